"""The built launcher reads torch's tensors, and makes outputs, by torch's functions in C."""

from __future__ import annotations

from typing import ClassVar

import pytest
from fresh_processes import output_of

import tilecore
import tilecore.language as T
from tilecore.backends.cpu.adapter import NativeAdapter
from tilecore.contract.adapter import KernelAdapter
from tilecore.errors import ArgumentError
from tilecore.runtime import launcher
from tilecore.tensors import torch_state

torch = pytest.importorskip("torch")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

pytestmark = pytest.mark.skipif(not launcher.built()[0], reason="the launcher is not built")


def compiled(shape=("M", "N"), dtype="float32", out_idx=-1, strided=False):
    """B = A, for two tensors of a shape, whose sizes are read at the call where they are names."""
    sizes = tuple(T.dynamic(size) if isinstance(size, str) else size for size in shape)
    strides = tuple(T.dynamic(f"s{axis}") for axis in range(len(sizes)))
    source = T.StridedTensor(sizes, strides, dtype) if strided else T.Tensor(sizes, dtype)

    @T.prim_func
    def copy(A: source, B: T.Tensor(sizes, dtype)):
        with T.Kernel(1):
            for i, j in T.Parallel(*sizes):
                B[i, j] = A[i, j]

    return tilecore.compile(copy, target="cpu", out_idx=out_idx)


@pytest.fixture
def empties(monkeypatch, fresh_caches):
    """The shapes that were asked of Python's ``empty`` of the adapter."""
    shapes = []
    original = KernelAdapter.empty

    def empty(self, shape, dtype, device_index=0):
        shapes.append(shape)
        return original(self, shape, dtype, device_index)

    monkeypatch.setattr(KernelAdapter, "empty", empty)
    return shapes


def test_this_torch_has_the_functions():
    state = torch_state.native_state()
    assert state is not None
    assert state.fields is not None
    assert state.allocation is not None


DTYPES = ("float32", "float16", "bfloat16", "int8", "uint8", "int16", "int64", "float64", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_outputs_are_made_in_c_from_the_second_call_on(dtype, empties):
    kernel = compiled(dtype=dtype)
    for rows, columns in ((3, 5), (3, 5), (1, 7), (4, 1), (0, 3), (2, 0), (300, 70)):
        source = torch.randint(0, 2, (rows, columns)).to(getattr(torch, dtype))
        result = kernel(source)
        assert type(result) is torch.Tensor
        assert (result.dtype, result.shape, result.device) == (source.dtype, source.shape, source.device)
        assert result.stride() == torch.empty_like(source).stride()
        assert torch.equal(result, source)
        assert not result.requires_grad
    assert empties == [(3, 5)]


def test_outputs_live_as_long_as_they_are_used(empties):
    kernel = compiled((4, 4))
    source = torch.arange(16.0).reshape(4, 4)
    results = [kernel(source + number) for number in range(50)]
    assert len({result.data_ptr() for result in results}) == 50
    assert all(torch.equal(result, source + number) for number, result in enumerate(results))
    result = results[7].resize_(8, 8)  # an ordinary tensor, with memory of its own
    assert result.shape == (8, 8)
    results[8].add_(1).requires_grad_().sum().backward()
    assert len(empties) == 1


def test_an_adapter_that_makes_its_own_outputs_is_asked_each_time():
    kernel = compiled((2, 2))
    made = []

    class Own(NativeAdapter):
        def empty(self, shape, dtype, device_index=0):
            made.append(shape)
            return super().empty(shape, dtype, device_index)

    own = Own()
    other = launcher.Launcher(kernel.artifact, kernel.loaded, own, kernel.device_type)
    for _ in range(3):
        assert torch.equal(other(torch.ones(2, 2)), torch.ones(2, 2))
    assert made == [(2, 2)] * 3


def test_where_torch_is_to_be_deterministic_its_own_function_makes_outputs(empties):
    kernel = compiled((2, 2))
    source = torch.ones(2, 2)
    kernel(source), kernel(source)
    assert len(empties) == 1
    torch.use_deterministic_algorithms(True)
    try:
        kernel(source)
    finally:
        torch.use_deterministic_algorithms(False)
    assert len(empties) == 2, "it fills them where that is set"


class Watching(TorchDispatchMode):
    seen: ClassVar[list[str]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.append(str(function))
        return function(*args, **(kwargs or {}))


def test_modes_of_torch_see_outputs(empties):
    kernel = compiled((2, 2))
    source = torch.ones(2, 2)
    kernel(source), kernel(source)
    with torch.inference_mode():
        assert kernel(source).is_inference()
    assert len(empties) == 1
    Watching.seen.clear()
    with Watching():
        kernel(source)
    assert [name for name in Watching.seen if "empty" in name]


def test_what_a_tensor_is_now_counts():
    """Tensors that were read before have changed in place."""
    kernel = compiled((4, 6), out_idx=())
    source, result = torch.rand(4, 6), torch.zeros(4, 6)
    kernel(source, result)
    source.t_()
    with pytest.raises(ArgumentError, match="A"):
        kernel(source, result)
    source.t_()
    other = torch.rand(4, 6)
    source.set_(other)
    kernel(source, result)
    assert torch.equal(result, other)
    source.data = torch.rand(4, 6).double()
    with pytest.raises(ArgumentError, match="A"):
        kernel(source, result)


def test_views_are_read_as_they_lie():
    kernel = compiled(strided=True)
    base = torch.arange(120.0).reshape(10, 12)
    views = [base, base.t(), base[2:7, 3:9], base[::2, ::3], base[:, 4:5], base[3:4], base.expand(10, 12), base[0:0]]
    views.append(torch.arange(5.0).expand(3, 5))
    for view in views:
        assert torch.equal(kernel(view), view)


@pytest.mark.parametrize("kind", ["meta", "sparse", "mkldnn", "neg", "complex", "quantized"])
def test_other_tensors_are_refused_without_a_word_of_torchs(kind, capfd):
    kernel = compiled((4, 4), out_idx=())
    plain, result = torch.zeros(4, 4), torch.zeros(4, 4)
    kernel(plain, result)
    make = {
        "meta": lambda: torch.zeros(4, 4, device="meta"),
        "sparse": lambda: plain.to_sparse(),
        "mkldnn": lambda: plain.to_mkldnn(),
        "neg": lambda: torch._neg_view(plain),
        "complex": lambda: torch.zeros(4, 4, dtype=torch.complex64),
        "quantized": lambda: torch.quantize_per_tensor(plain, 0.1, 0, torch.qint8),
    }[kind]
    try:
        tensor = make()
    except Exception as error:
        pytest.skip(f"this torch has none: {error}")
    capfd.readouterr()
    for _ in range(2):
        with pytest.raises(ArgumentError):
            kernel(tensor, result)
    assert capfd.readouterr().err == ""
    kernel(plain, result)


@pytest.mark.parametrize("missing", ["torch_fields", "torch_allocation"])
def test_without_one_of_the_groups_of_functions(missing, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """
import torch
import tilecore
import tilecore.language as T
from tilecore.tensors import MODULE, torch_state
MODULE.MODULE = lambda *arguments: None

@T.prim_func
def copy(A: T.Tensor((4, 4), "float32"), B: T.Tensor((4, 4), "float32")):
    with T.Kernel(1):
        for i, j in T.Parallel(4, 4):
            B[i, j] = A[i, j]

kernel = tilecore.compile(copy, target="cpu", out_idx=-1)
source = torch.rand(4, 4)
for _ in range(3):
    assert torch.equal(kernel(source), source)
state = torch_state.native_state()
assert state is not None and None in (state.fields, state.allocation)
print("right")
""".replace("MODULE", missing)
    )
    assert output_of(f"import runpy; runpy.run_path({str(program)!r})") == "right\n"
