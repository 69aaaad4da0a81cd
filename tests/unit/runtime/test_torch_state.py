"""Kernels and what torch does around them: tracing, transformations, derivatives, versions, tensors that are not plain.

Both launchers say the same.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings

import pytest
from fresh_processes import FOLDER, output_of, run_code

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LaunchError
from tilecore.runtime import launcher, launcher_py
from tilecore.runtime.gradient_warning import GradientWarning
from tilecore.tensors import torch_state

torch = pytest.importorskip("torch")


@T.prim_func
def plus(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            B[i] = A[i] + 1


@T.prim_func
def count_up(A: T.Tensor((8,), "float32"), s: T.float32):
    with T.Kernel(1):
        for i in T.Parallel(8):
            A[i] = A[i] + s


@T.prim_func
def no_blocks(A: T.Tensor((8,), "float32"), n: T.int32):
    with T.Kernel(n):
        for i in T.Parallel(8):
            A[i] = A[i] + 1


@T.prim_func
def counts_down(A: T.Tensor((2,), "int64")):
    with T.Kernel(1):
        while A[0] > 0:
            A[0] = A[0] - 1
            A[1] = (A[1] * 6364136223846793005 + 1442695040888963407) ^ (A[1] >> 33)


KINDS = [pytest.param(launcher_py.Launcher, id="python")]
if launcher.built()[0]:
    KINDS.append(pytest.param(launcher.Launcher, id="built"))


@pytest.fixture(params=KINDS)
def compiled(request):
    """A kernel under one of the launchers."""

    def compiled(function, **options):
        kernel = tilecore.compile(function, target="cpu", **options)
        return request.param(kernel.artifact, kernel.loaded, kernel.adapter, kernel.device_type)

    return compiled


def under_fx(run, mode="real"):
    from torch.fx.experimental.proxy_tensor import make_fx

    make_fx(run, tracing_mode=mode)(torch.zeros(8))


def under_fake_mode(run):
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        run(torch.zeros(8))


def under_export(run):
    class Module(torch.nn.Module):
        def forward(self, x):
            return run(x)

    torch.export.export(Module(), (torch.zeros(8),), strict=False)


TRACERS = {
    "make_fx": under_fx,
    "make_fx fake": lambda run: under_fx(run, "fake"),
    "make_fx symbolic": lambda run: under_fx(run, "symbolic"),
    "jit.trace": lambda run: torch.jit.trace(run, torch.zeros(8)),
    "vmap": lambda run: torch.vmap(run)(torch.zeros(3, 8)),
    "grad": lambda run: torch.func.grad(lambda x: run(x).sum())(torch.zeros(8)),
    "functionalize": lambda run: torch.func.functionalize(run)(torch.zeros(8)),
    "FakeTensorMode": under_fake_mode,
    "export": under_export,
}


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize("captured", [False, True], ids=["argument", "captured"])
def test_a_call_that_would_not_be_recorded_is_refused(compiled, tracer, captured):
    """Also where the kernel is given a plain tensor from outside: its result would be a constant of the trace."""
    kernel, outside = compiled(plus, out_idx=-1), torch.zeros(8)
    kernel(outside)  # the launcher has seen torch by now
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(LaunchError, match=r"called under .* does not record this kernel") as caught:
            TRACERS[tracer](lambda x: kernel(outside if captured else x) + x)
    assert "kernel.torch_op(" in caught.value.hint
    assert torch.equal(kernel(outside), torch.ones(8)), "and works again afterwards"


def test_modes_that_only_watch_are_no_reason(compiled):
    from torch.utils.flop_counter import FlopCounterMode

    kernel = compiled(plus, out_idx=-1)
    with FlopCounterMode(display=False):
        assert torch.equal(kernel(torch.zeros(8)), torch.ones(8))
    with torch.device("cpu"):
        assert torch.equal(kernel(torch.zeros(8)), torch.ones(8))


def test_as_a_custom_operation_it_can_be_traced(compiled):
    """What the warning says to do."""
    from torch.fx.experimental.proxy_tensor import make_fx

    kernel, name = compiled(plus, out_idx=-1), f"tests::plus_{id(compiled)}"

    @torch.library.custom_op(name, mutates_args=())
    def operation(x: torch.Tensor) -> torch.Tensor:
        return kernel(x)

    operation.register_fake(lambda x: torch.empty_like(x))
    traced = make_fx(lambda x: operation(x) * 2, tracing_mode="fake")(torch.zeros(8))
    assert torch.equal(traced(torch.ones(8)), torch.full((8,), 4.0))


def test_an_input_that_requires_a_gradient_gives_a_warning(compiled):
    kernel = compiled(plus, out_idx=-1)
    for leaf in (torch.zeros(8, requires_grad=True), torch.nn.Parameter(torch.zeros(8))):
        for tensor in (leaf, leaf.clone()):
            with pytest.warns(GradientWarning, match="A requires a gradient") as caught:
                result = kernel(tensor)
            assert torch.equal(result, torch.ones(8))
            assert not result.requires_grad
            assert "A.detach()" in str(caught[0].message)
            assert "torch_op" in str(caught[0].message)
            assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert torch.equal(kernel(leaf.detach()), torch.ones(8))
            for mode in (torch.no_grad, torch.inference_mode):
                with mode():
                    assert torch.equal(kernel(leaf), torch.ones(8))


def positive(dtype):
    @T.prim_func
    def positive(A: T.Tensor((8,), "float32"), least: T.float32, P: T.Tensor((8,), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(8):
                P[i] = T.cast(A[i] > least, dtype)

    return positive


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "int64", "float4_e2m1fn"])
def test_kernels_that_write_no_floats_give_no_warning(compiled, dtype):
    """Integers have no gradient; 4-bit floats are packed into integers."""
    leaf, number = torch.ones(8, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = compiled(positive(dtype), out_idx=-1)(leaf, number)
        assert not result.requires_grad
        compiled(positive(dtype))(leaf, number, result)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float8_e4m3fn"])
def test_kernels_that_write_floats_give_a_warning(compiled, dtype):
    with pytest.warns(GradientWarning):
        result = compiled(positive(dtype), out_idx=-1)(torch.ones(8, requires_grad=True), 0.5)
    with pytest.warns(GradientWarning):
        compiled(positive(dtype))(torch.ones(8, requires_grad=True), 0.5, result)
    with pytest.raises(ArgumentError, match="least does not take this value"):
        compiled(positive(dtype), out_idx=-1)(torch.ones(8), torch.tensor(0.5, requires_grad=True))


def test_a_function_of_autograd_calls_kernels(compiled):
    """What the warning says to do."""
    forward = compiled(plus, out_idx=-1)

    class Plus(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return forward(x)

        @staticmethod
        def backward(ctx, gradient):
            return forward(gradient.contiguous())

    x = torch.zeros(8, requires_grad=True)
    Plus.apply(x).sum().backward()
    assert torch.equal(x.grad, torch.full((8,), 2.0))


def test_what_is_written_counts_a_version(compiled):
    kernel, tensor, source = compiled(count_up), torch.zeros(8), torch.zeros(8)
    for number in (1, 2.5):  # the built launcher reads both, and asks for True
        before = tensor._version
        kernel(tensor, number)
        assert tensor._version == before + 1
    copied = compiled(plus)
    copied(source, tensor)
    assert (source._version, tensor._version) == (0, 3), "what is only read does not"
    compiled(no_blocks)(source, 0)
    assert source._version == 0, "nothing ran"


def test_autograd_hears_of_a_write_to_what_it_has_saved(compiled):
    leaf = torch.ones(8, requires_grad=True)
    result = (leaf * leaf).sum()
    with torch.no_grad():
        compiled(count_up)(leaf, 1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_inference_tensors_have_no_version(compiled):
    with torch.inference_mode():
        tensor = torch.zeros(8)
    compiled(count_up)(tensor, 1.0)
    assert torch.equal(tensor, torch.ones(8))


def quantized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.zeros(8), 1.0, 0, torch.qint8)


def two_tensors():
    from torch.testing._internal.two_tensor import TwoTensor

    return TwoTensor(torch.zeros(8), torch.zeros(8))


def fake():
    from torch._subclasses import FakeTensorMode

    return FakeTensorMode().from_tensor(torch.zeros(8))


NOT_PLAIN = {
    "negated": (lambda: torch._neg_view(torch.ones(8)), r"resolve_neg\(\)"),
    "negated twice over": (lambda: torch._neg_view(torch.ones(16))[8:], r"resolve_neg\(\)"),
    "zero": (lambda: torch._efficientzerotensor(8), "not a fake, lazy or deferred tensor"),
    "quantized": (quantized, "dequantize"),
    "sparse": (lambda: torch.zeros(8).to_sparse(), "to_dense"),
    "meta": (lambda: torch.zeros(8, device="meta"), "no memory"),
    "nested": (lambda: torch.nested.nested_tensor([torch.zeros(8)]), "nested"),
    "conjugate": (lambda: torch.zeros(8, dtype=torch.complex64).conj(), "wrong dtype"),
    "wrapper": (two_tensors, "TwoTensor handles torch's operations itself"),
    "fake": (fake, "FakeTensor handles torch's operations itself"),
}


@pytest.mark.parametrize("kind", NOT_PLAIN)
def test_tensors_whose_memory_is_not_their_values_are_refused(compiled, kind):
    make, words = NOT_PLAIN[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensor = make()
    with pytest.raises(ArgumentError, match=words):
        compiled(plus, out_idx=-1)(tensor)


def test_a_plain_subclass_is_a_tensor(compiled):
    class Named(torch.Tensor):
        pass

    assert torch.equal(compiled(plus, out_idx=-1)(torch.zeros(8).as_subclass(Named)), torch.ones(8))


def test_the_built_launcher_knows_this_torch():
    """Where it does not, a call costs some hundred nanoseconds more; a release of torch should not do that unseen."""
    if sys.platform != "linux":
        pytest.skip("the names are those of Linux")
    assert torch_state.native_state() is not None


FALLBACK = """
import torch
from tilecore.tensors import torch_state
torch_state.native_state = lambda: None
import pytest, sys
some = "built and (version or gradient or negated or vmap or real)"
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", {file!r}, "-k", some]))
"""


@pytest.mark.skipif(not launcher.built()[0], reason="there is no built launcher")
def test_the_same_where_torchs_own_functions_are_not_found_in_a_fresh_process():
    ended = run_code(FALLBACK.format(file=__file__), timeout=200)
    assert ended.returncode == 0, ended.stdout[-3000:]


def test_the_first_call_may_be_a_traced_one_in_a_fresh_process():
    """Torch's functions are tried on tensors when they are first needed: not while these would be recorded."""
    code = (
        "import torch, tilecore, sys; sys.path += sys.argv[1:]; import test_torch_state as here\n"
        "from torch.fx.experimental.proxy_tensor import make_fx\n"
        "kernel = tilecore.compile(here.plus, target='cpu', out_idx=-1)\n"
        "def run(x):\n"
        "    try: kernel(x)\n"
        "    except here.LaunchError: return x\n"
        "assert not [n for n in make_fx(run)(torch.zeros(8)).graph.nodes if n.op == 'call_function']\n"
        "assert torch.equal(kernel(torch.zeros(8)), torch.ones(8))\n"
        "kernel(torch.zeros(8))\n"
    )
    folder = __file__.rpartition("/")[0]
    output_of(code, folder, FOLDER)


def test_the_GIL_is_free_during_a_loop_that_depends_on_data(compiled):
    """One store in the source, a second of work in the call."""
    kernel, steps, stop = compiled(counts_down), [0], threading.Event()
    kernel(torch.ones(2, dtype=torch.int64))

    def step():
        while not stop.is_set():
            steps[0] += 1
            time.sleep(0.002)

    thread = threading.Thread(target=step)
    thread.start()
    try:
        before, start = steps[0], time.monotonic()
        kernel(torch.full((2,), 100_000_000, dtype=torch.int64))
        steps_meanwhile, seconds = steps[0] - before, time.monotonic() - start
    finally:
        stop.set()
        thread.join()
    assert seconds > 0.02, "long enough to tell"
    assert steps_meanwhile >= min(seconds / 0.002 / 20, 50)
