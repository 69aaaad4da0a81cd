"""The built launcher does what the one in Python does: the same slots, or the same error."""

import itertools
from dataclasses import replace

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from launch_kit import HOST, HostAdapter, Recorder, _launcher, expr, kernel, native, torch

from tilecore.artifact.records import Entry, ScalarParam, Symbol, TensorParam
from tilecore.errors import TilecoreError
from tilecore.runtime import launcher_py

pytestmark = pytest.mark.skipif(_launcher is None, reason="the extension is not built")

NAMES = ("m", "n")
DTYPES = ("float32", "int8", "bool", "int4", "bfloat16")
DIMS = st.one_of(
    st.integers(0, 4),
    st.sampled_from(NAMES).map(expr),
    st.tuples(st.sampled_from("+-*"), st.sampled_from(NAMES), st.integers(1, 3)).map(expr),
    st.tuples(st.sampled_from(("//", "%", "min", "max")), st.sampled_from(NAMES), st.sampled_from(NAMES)).map(expr),
)
STORAGE = torch.zeros(65536, dtype=torch.uint8)


@st.composite
def tensor_params(draw, name):
    dtype = draw(st.sampled_from(DTYPES))
    packed = 2 if dtype == "int4" else 1
    rank = draw(st.integers(1 if packed == 2 else 0, 3))
    shape = tuple(draw(DIMS) for _ in range(rank))
    strides = None
    if draw(st.booleans()):
        strides = tuple(draw(DIMS) for _ in range(rank))
        strides = (*strides[:-1], 1) if packed == 2 else strides
    return TensorParam(
        name, dtype, shape, strides, draw(st.sampled_from(("r", "w", "rw"))), draw(st.sampled_from((1, 4, 16))), packed
    )


@st.composite
def artifacts(draw):
    params = [draw(tensor_params(name)) for name in draw(st.sampled_from(("A", "AB", "ABC")))]
    if draw(st.booleans()):
        params.append(
            ScalarParam("s", draw(st.sampled_from(("int8", "uint64", "float32", "float64", "bool", "float16"))))
        )
    symbols = []
    for name in NAMES:
        places = [
            ("shape", i, a) for i, p in enumerate(params) if isinstance(p, TensorParam) for a in range(len(p.shape))
        ]
        places += [("stride", *place[1:]) for place in places if params[place[1]].strides is not None]
        places += [
            ("scalar", i, 0) for i, p in enumerate(params) if getattr(p, "shape", None) is None and "int" in p.dtype
        ]
        if not places:
            params.append(ScalarParam(f"size_{name}", "int32"))
            places = [("scalar", len(params) - 1, 0)]
        scale, offset = draw(st.sampled_from(((1, 0), (1, 0), (2, 0), (3, -1), (-1, 4))))
        place = draw(st.sampled_from(places))
        symbols.append(Symbol(name, place, draw(st.sampled_from(("int32", "int8"))), scale, offset))
        if draw(st.integers(0, 9)):
            params[place[1]] = with_dim(params[place[1]], place, expr(("+", ("*", scale, name), offset)))
    entries = [Entry("e", (draw(DIMS), draw(DIMS), 1), (1, 1, 1), draw(DIMS), draw(st.sampled_from((0, 10))))]
    tensors = [i for i, p in enumerate(params) if isinstance(p, TensorParam)]
    out_idx = draw(st.sampled_from([(), (), (), (tensors[-1],)]))
    return kernel(params, symbols, entries, out_idx)


def with_dim(param, place, dim):
    """``param`` with ``dim`` at ``place``; a place that has to stay as it is stays."""
    kind, _, axis = place
    if kind == "scalar" or (kind == "stride" and param.packed == 2 and axis == len(param.shape) - 1):
        return param
    field = "shape" if kind == "shape" else "strides"
    return replace(param, **{field: tuple(dim if i == axis else d for i, d in enumerate(getattr(param, field)))})


def fitting(draw, dim, values):
    """A size for ``dim``: what it should be, mostly."""
    if draw(st.integers(0, 39)) == 0:
        return draw(st.integers(0, 5))
    try:
        return min(6, max(0, dim if isinstance(dim, int) else dim.evaluate(values)))
    except ZeroDivisionError:
        return 1


@st.composite
def tensors(draw, param, values, place):
    """Mostly what ``param`` asks for, somewhere in one shared block of memory."""
    names = {"int4": "int8"}
    name = names.get(param.dtype, param.dtype)
    if draw(st.integers(0, 39)) == 0:
        name = draw(st.sampled_from(("float32", "int8", "uint8", "bool", "float64")))
    dtype = getattr(torch, name)
    shape = [fitting(draw, dim, values) for dim in param.shape]
    if param.packed == 2:
        shape[-1] //= 2
    if draw(st.integers(0, 19)) == 0:
        shape = [*shape, 1]
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    if param.strides is not None and len(param.strides) == len(shape):
        strides = [fitting(draw, dim, values) for dim in param.strides]
    if draw(st.integers(0, 19)) == 0 and strides:
        strides[draw(st.integers(0, len(strides) - 1))] = draw(st.integers(0, 7))
    start = draw(st.sampled_from((0, 64, 256))) + draw(st.sampled_from((0, 0, 0, 0, 0, 1)))
    start += 0 if draw(st.integers(0, 4)) == 0 else 1024 * place
    tensor = STORAGE.view(dtype).as_strided(shape, strides, start)
    if name != "bfloat16" and draw(st.booleans()):
        tensor = tensor.numpy()
        if draw(st.integers(0, 9)) == 0:
            tensor.flags.writeable = False
        elif draw(st.integers(0, 9)) == 0 and tensor.ndim:
            tensor = tensor[::-1]
    return tensor


@st.composite
def calls(draw):
    artifact = draw(artifacts())
    values = {name: draw(st.integers(0, 5)) for name in NAMES}
    args = []
    for index, param in enumerate(artifact.params):
        if index in artifact.out_idx:
            continue
        if isinstance(param, TensorParam):
            args.append(draw(tensors(param, values, index)))
        else:
            good = (0, 1) if param.dtype != "bool" else (False, True)
            args.append(
                draw(
                    st.sampled_from(good)
                    | st.sampled_from(
                        (1, 0, 3, True, False, -1, 2.5, 300, 2**63, float("inf"), 1e300, "x", numpy.int8(3))
                    )
                )
            )
    if draw(st.integers(0, 19)) == 0:
        args = args[:-1]
    return artifact, args


def outcome(kind, artifact, args):
    """(slots, grids, shapes of the results), with the pointers of results left out; or (class, text) of the error."""
    recorder = Recorder(artifact)
    try:
        launcher = kind(artifact, native(recorder), HostAdapter(), HOST)
        results = launcher(*args)
    except TilecoreError as error:
        return type(error), str(error)
    tensors = [i for i, p in enumerate(artifact.params) if isinstance(p, TensorParam)]
    slots = list(recorder.slots) if recorder.calls else None
    for out in artifact.out_idx:
        if slots is not None:
            slots[tensors.index(out)] = 0
    shape = None if results is None else (tuple(results.shape), results.dtype)
    return slots, recorder.grids if recorder.calls else None, shape


SEEN: dict[str, int] = {"launched": 0, "refused": 0}


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(calls())
def test_both_launchers_agree(call):
    artifact, args = call
    expected = outcome(launcher_py.Launcher, artifact, args)
    assert outcome(_launcher.Launcher, artifact, args) == expected
    SEEN["refused" if isinstance(expected[0], type) else "launched"] += 1


def test_the_agreement_was_on_both_kinds_of_outcome():
    if sum(SEEN.values()) < 600:
        pytest.skip("needs the test above")
    assert min(SEEN.values()) > 20, SEEN


def test_plain_calls_never_reach_the_checker_in_python(monkeypatch):
    """The fast path is taken for the calls that it is for; else it would be fast for nothing."""
    m, n = expr("m"), expr("n")
    artifact = kernel(
        [
            TensorParam("A", "float32", (m, expr(("*", "n", 2))), access="r"),
            TensorParam("B", "float32", (m, n), strides=(expr("ld"), 1), access="w"),
            TensorParam("C", "int4", (m, n), access="r", packed=2),
            ScalarParam("x", "float32"),
            ScalarParam("i", "int32"),
            ScalarParam("b", "bool"),
            TensorParam("D", "float16", (n,), access="w"),
        ],
        [Symbol("m", ("shape", 0, 0)), Symbol("n", ("shape", 0, 1), scale=2), Symbol("ld", ("stride", 1, 0))],
        [Entry("e", (expr(("//", ("+", "m", 7), 8)), expr(("select", ("<", "n", 4), 1, 2)), 1))],
        out_idx=[6],
    )
    monkeypatch.setattr(_launcher, "bind", lambda *_: pytest.fail("the checker in Python was asked"))
    recorder = Recorder(artifact)
    launcher = _launcher.Launcher(artifact, native(recorder), HostAdapter(), HOST)
    a, b, c = torch.zeros(5, 8), torch.zeros(5, 9)[:, :4], torch.zeros(5, 2, dtype=torch.int8)
    choices = itertools.product((a, a.numpy()), (b, b.numpy()), (c, c.numpy()), (1.5, 2), (3,), (True, False))
    for args in choices:
        output = launcher(*args)
        only_arrays = all(isinstance(arg, numpy.ndarray) for arg in args[:3])
        assert isinstance(output, numpy.ndarray if only_arrays else torch.Tensor)
        assert str(output.dtype).removeprefix("torch.") == "float16"
        assert recorder.slots[-3:] == [5, 4, 9]
        assert recorder.grids == [1, 2, 1, 0]
