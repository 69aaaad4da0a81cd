"""Operations of torch run their kernels, agree with torch's own checks, and keep their names."""

from __future__ import annotations

import sys
import textwrap

import pytest
from fresh_processes import output_of
from op_kernels import (
    N,
    add_into,
    compiled,
    fresh_name,
    product,
    scale,
    scale_gradient,
    sum_and_difference,
)

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LaunchError, UnsupportedError

torch = pytest.importorskip("torch")


def test_calls_go_to_the_kernel():
    name = fresh_name()
    op = compiled(scale, -1).torch_op(name)
    a = torch.randn(70)
    torch.testing.assert_close(op(a, 2.5), a * 2.5)
    namespace, short = name.split("::")
    torch.testing.assert_close(getattr(getattr(torch.ops, namespace), short)(a, s=3.0), a * 3)


def test_several_results_are_a_tuple():
    op = compiled(sum_and_difference, [2, 3]).torch_op(fresh_name())
    a, b = torch.randn(5, 7), torch.randn(5, 7)
    total, difference = op(a, b)
    torch.testing.assert_close(total, a + b)
    torch.testing.assert_close(difference[:5, :7], (a - b).half())
    assert difference.shape == (6, 14)


def test_arguments_that_are_written():
    op = compiled(add_into).torch_op(fresh_name())
    a, c = torch.randn(8, 3), torch.ones(8, 3)
    version = c._version
    assert op(a, 2, c) is None
    torch.testing.assert_close(c, 1 + 2 * a)
    assert c._version > version


@pytest.mark.parametrize("size", [1, 2, 64, 130])
def test_torchs_own_checks(size):
    a = torch.randn(size)
    torch.library.opcheck(compiled(scale, -1).torch_op("tilecore_tests::checked"), (a, 2.0))
    torch.library.opcheck(compiled(scale).torch_op("tilecore_tests::checked_in_place"), (a, 2.0, torch.empty(size)))
    c = torch.randn(8, size)
    torch.library.opcheck(compiled(add_into).torch_op("tilecore_tests::checked_added"), (torch.randn(8, size), 3, c))
    both = compiled(sum_and_difference, [2, 3]).torch_op("tilecore_tests::checked_both")
    torch.library.opcheck(both, (torch.randn(3, size), torch.randn(3, size)))


def test_a_kernel_without_tensor_arguments():
    @T.prim_func
    def count(start: T.int32, C: T.Tensor((6,), "int32")):
        with T.Kernel(1):
            for i in T.serial(6):
                C[i] = start + i

    op = compiled(count, -1).torch_op(fresh_name())
    assert op(4).tolist() == [4, 5, 6, 7, 8, 9]
    assert torch.compile(lambda: op(4) + 1, fullgraph=True, backend="aot_eager")().tolist() == [5, 6, 7, 8, 9, 10]


def test_tensors_that_may_be_none():
    @T.prim_func
    def biased(
        flag: T.bool, A: T.Tensor((N,), "float32"), bias: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")
    ):
        with T.Kernel(1):
            for i in T.serial(N):
                C[i] = A[i]
                if flag:
                    C[i] = C[i] + bias[i]

    op = compiled(biased, -1).torch_op(fresh_name())
    a, bias = torch.randn(5), torch.randn(5)
    torch.testing.assert_close(op(True, a, bias), a + bias)
    torch.testing.assert_close(op(False, a, None), a)
    run = torch.compile(lambda a, b: op(b is not None, a, b), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(run(a, bias), a + bias)
    torch.testing.assert_close(run(a, None), a)


def test_the_same_kernel_is_the_same_operation():
    name, kernel = fresh_name(), compiled(scale, -1)
    assert kernel.torch_op(name) is kernel.torch_op(name)
    assert compiled(scale, -1).torch_op(name) is kernel.torch_op(name)


def test_a_taken_name():
    name = fresh_name()
    compiled(scale, -1).torch_op(name)
    with pytest.raises(ArgumentError, match="exists already"):
        compiled(product, -1).torch_op(name)
    with pytest.raises(ArgumentError, match="exists already"):
        compiled(scale, -1).torch_op(name, vmap="loop")
    op = compiled(product, -1).torch_op(f"{name}.product")
    torch.testing.assert_close(op(torch.ones(3), torch.full((3,), 2.0)), torch.full((3,), 2.0))


def test_names_of_others_are_not_taken_over():
    name = fresh_name()
    torch.library.custom_op(name, lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(ArgumentError, match="exists already"):
        compiled(scale, -1).torch_op(name)


def test_a_failed_registration_leaves_nothing():
    name = fresh_name()
    kernel = compiled(scale, -1)
    with pytest.raises(ArgumentError, match="autocast"):
        kernel.torch_op(name, autocast="float16")
    op = kernel.torch_op(name)
    assert op(torch.ones(2), 2.0).tolist() == [2, 2]


def test_wrong_arguments_are_the_kernels_errors():
    op = compiled(scale, -1).torch_op(fresh_name())
    with pytest.raises(ArgumentError, match="wrong dtype"):
        op(torch.ones(3, dtype=torch.float64), 1.0)
    with pytest.raises(ArgumentError, match="contiguous"):
        op(torch.ones(6)[::2], 1.0)


def test_autocast_casts_arguments():
    op = compiled(scale, -1).torch_op(fresh_name(), autocast=torch.float32)
    half = torch.ones(4, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert op(half, 3.0).tolist() == [3, 3, 3, 3]
    with pytest.raises(ArgumentError, match="wrong dtype"):
        op(half, 3.0)


def test_autocast_of_arguments_that_are_written_is_refused():
    with pytest.raises(UnsupportedError, match="would write to the copy"):
        compiled(add_into).torch_op(fresh_name(), autocast=torch.float32)


@pytest.mark.parametrize(
    "rules",
    [
        {"backward": 3},
        {"vmap": "vectorised"},
        {"setup_context": print},
        {"backward": compiled(scale_gradient, -1), "setup_context": print},
        {"autocast": "float16"},
        {"autocast": {"cpu": "float16"}},
        {"autocast": torch.int32},
    ],
    ids=lambda rules: " ".join(rules),
)
def test_wrong_rules(rules):
    with pytest.raises(ArgumentError, match="torch_op"):
        compiled(scale, -1).torch_op(fresh_name(), **rules)


def test_a_backward_that_is_not_compiled():
    @tilecore.jit(target="cpu", out_idx=-1)
    def made():
        return scale_gradient

    for backward, hint in ((scale_gradient, "tilecore.compile(scale_gradient"), (made, "made.compile(...)")):
        with pytest.raises(ArgumentError, match="is not compiled") as caught:
            compiled(scale, -1).torch_op(fresh_name(), backward=backward)
        assert hint in caught.value.hint


def test_a_keyword_that_is_misspelt():
    with pytest.raises(TypeError, match="unexpected keyword argument 'setup_ctx'") as caught:
        compiled(scale, -1).torch_op(fresh_name(), setup_ctx=print)
    error = caught.value
    assert error.expected == "torch_op(name, *, backward=None, setup_context=None, autocast=None, vmap=None)"
    assert error.hint == "did you mean 'setup_context'?"
    assert error.location.file == __file__


def test_a_bare_kernel_under_torch_compile_names_torch_op():
    kernel, a = compiled(scale, -1), torch.ones(3)
    with pytest.raises(Exception, match=r"kernel.torch_op\(") as caught:
        torch.compile(lambda x: kernel(x, 2.0), fullgraph=True, backend="eager")(a)
    assert type(caught.value).__name__ == "Unsupported"
    assert torch.compile(lambda x: kernel(x, 2.0) + 1, backend="eager")(a).tolist() == [3, 3, 3]


@pytest.mark.parametrize("how", ["export", "make_fx", "vmap", "jit.trace"])
def test_a_bare_kernel_elsewhere_names_torch_op(how):
    kernel, a = compiled(scale, -1), torch.ones(3)
    runs = {
        "export": lambda f: torch.export.export(_module(f), (a,), strict=False),
        "make_fx": lambda f: torch.fx.experimental.proxy_tensor.make_fx(f)(a),
        "vmap": lambda f: torch.vmap(f)(a[None]),
        "jit.trace": lambda f: torch.jit.trace(f, (a,)),
    }
    with pytest.raises(LaunchError) as caught:
        runs[how](lambda x: kernel(x, 2.0))
    assert "kernel.torch_op(" in str(caught.value.hint)


def _module(function):
    class Module(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    return Module()


def test_without_torch(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            sys.modules["torch"] = None
            import tilecore, tilecore.language as T
            @T.prim_func
            def one(A: T.Tensor((1,), "float32")):
                with T.Kernel(1):
                    A[0] = 1.0
            try:
                tilecore.compile(one, target="cpu").torch_op("a::b")
            except tilecore.errors.UnsupportedError as error:
                print(error.message)
            """
        )
    )
    assert (
        output_of("import runpy, sys; runpy.run_path(sys.argv[1])", script)
        == "torch_op needs torch, which is not installed\n"
    )


def test_calls_in_c():
    """The Python ``__call__`` of the class is for those who look at it; calls of objects do not go through it."""
    kernel = compiled(scale, -1)
    assert type(kernel).__call__(kernel, torch.ones(2), 2.0).tolist() == [2, 2]
    from tilecore.runtime.launcher import built

    if built()[0]:
        steps = []
        sys.setprofile(lambda frame, event, arg: steps.append(frame.f_code.co_name) if event == "call" else None)
        try:
            kernel(torch.ones(2), 2.0)
        finally:
            sys.setprofile(None)
        assert "__call__" not in steps
        with pytest.raises(TypeError, match="subclass"):
            tilecore.runtime.launcher.call_in_c(int)
