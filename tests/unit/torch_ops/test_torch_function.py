"""Functions under @tilecore.jit(torch_op=...): prim funcs, eager kernels, and functions that return kernels."""

from __future__ import annotations

import pytest
from op_kernels import fresh_name, scale, scale_gradient

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, UnsupportedError

torch = pytest.importorskip("torch")


def jit(func, **settings):
    return tilecore.jit(func, target="cpu", **settings)


def both(function):
    """The function as it is, and as torch compiles it."""
    return function, torch.compile(function, fullgraph=True, backend="aot_eager")


def test_a_prim_func():
    op = jit(scale, out_idx=-1, torch_op=fresh_name())
    assert str(op.op._schema).endswith("(Tensor A, float s) -> Tensor")
    a = torch.randn(70)
    for run in both(lambda x: op(x, 2.0) + 1):
        torch.testing.assert_close(run(a), a * 2 + 1)
    torch.library.opcheck(op.op, (a, 2.0))


def test_it_is_not_compiled_before_a_call(monkeypatch):
    op = jit(scale, out_idx=-1, torch_op=fresh_name())
    assert op._own is None
    op(torch.ones(1), 1.0)
    assert op._own is not None
    assert op.compile()(torch.ones(1), 2.0).tolist() == [2]


def test_a_gradient_by_another_function():
    backward = jit(scale_gradient, out_idx=-1)
    op = jit(scale, out_idx=-1, torch_op=fresh_name(), backward=backward)
    for run in both(lambda x: op(x, 3.0).sum()):
        a = torch.randn(70, requires_grad=True)
        run(a).backward()
        assert (a.grad == 3).all()


def make_eager(name):
    @tilecore.jit(target="cpu", torch_op=name)
    def twice(A, B, factor: T.float32, block: int = 64):
        n = T.const("n")
        A: T.Tensor[[n], T.float32]
        B: T.Tensor[[n], T.float32]
        C = T.empty((n + 1,), T.float32)
        with T.Kernel(T.ceildiv(n, block)) as at:
            for i in T.Parallel(block):
                if at * block + i < n:
                    B[at * block + i] = A[at * block + i] * factor
                    C[at * block + i] = A[at * block + i] + 1.0
            if at == 0:
                C[n] = 7.0
        return C

    return twice


def test_an_eager_function():
    twice = make_eager(fresh_name())
    assert str(twice.op._schema).endswith("(Tensor A, Tensor(a!) B, float factor) -> Tensor")

    def program(a):
        b = torch.empty_like(a)
        return twice(a, b, 2.0), b

    for run in both(program):
        for size in (1, 5, 100):
            a = torch.randn(size)
            c, b = run(a)
            torch.testing.assert_close(b, a * 2)
            torch.testing.assert_close(c, torch.cat([a + 1, torch.tensor([7.0])]))
    torch.library.opcheck(twice.op, (torch.randn(5), torch.empty(5), 3.0))


def make_constant(name, value):
    @tilecore.jit(target="cpu", torch_op=name)
    @T.prim_func
    def constant(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            for i in T.serial(4):
                A[i] = value

    return constant


def test_the_same_definition_again_is_the_same_operation():
    name, other = fresh_name(), fresh_name()
    assert make_eager(name).op is make_eager(name).op
    assert make_constant(other, 1.0).op is make_constant(other, 1.0).op


def test_another_definition_does_not_take_the_name():
    """torch's programs and caches hold on to an operation: they crashed where it was replaced."""
    name, other = fresh_name(), fresh_name()
    first, a = make_constant(name, 1.0), torch.zeros(4)
    with pytest.raises(ArgumentError, match="exists already") as caught:
        make_constant(name, 2.0)
    assert "notebook" in str(caught.value.hint)
    first(a)
    assert a.tolist() == [1, 1, 1, 1]
    make_eager(other)
    with pytest.raises(ArgumentError, match="exists already"):
        jit(scale, out_idx=-1, torch_op=other)


def test_an_operation_is_made_outside_of_a_program():
    multiply = make_lazy(fresh_name())
    with pytest.raises(Exception, match="outside of the program"):
        torch.compile(lambda x: multiply(3)(x), fullgraph=True, backend="eager")(torch.ones(3))


def test_an_eager_function_whose_parameters_depend_on_sizes():
    def halves(A):
        n = T.const("n")
        A: T.Tensor[[n], T.float32]
        assert n < 100, "small ones only"
        with T.Kernel(1):
            A[0] = 1.0

    with pytest.raises(Exception, match=r"small ones only|cannot be an operation"):
        jit(halves, torch_op=fresh_name())


def test_an_eager_function_with_a_value_without_default():
    def add(A, by):
        n = T.const("n")
        A: T.Tensor[[n], T.float32]
        with T.Kernel(1):
            for i in T.serial(n):
                A[i] = A[i] + by

    with pytest.raises((UnsupportedError, ArgumentError), match="by"):
        jit(add, torch_op=fresh_name())


def make_lazy(name, **rules):
    @tilecore.jit(target="cpu", out_idx=-1, torch_op=name, **rules)
    def multiply(M, by=2, dtype="float32"):
        @T.prim_func
        def times(A: T.Tensor((M,), dtype), B: T.Tensor((M,), dtype)):
            with T.Kernel(1):
                for i in T.serial(M):
                    B[i] = A[i] * by

        return times

    return multiply


def test_a_function_that_returns_kernels():
    name = fresh_name()
    multiply = make_lazy(name)
    op = multiply(5, by=3)
    assert op._name == f"{name}.M5_by3_dtypefloat32"
    assert multiply(5, 3) is op
    assert multiply(6) is not op
    assert multiply(5, by=0.5)._name == f"{name}.M5_by0p5_dtypefloat32"
    assert multiply(5, -3)._name == f"{name}.M5_bym3_dtypefloat32"
    assert multiply(5, 3, T.float32) is multiply(5, 3, torch.float32) is op
    a = torch.randn(5)
    for run in both(lambda x: op(x) + 1):
        torch.testing.assert_close(run(a), a * 3 + 1)
    assert multiply.compile(5, by=3)(a).shape == (5,)


def test_a_function_that_returns_gradients_for_the_same_values():
    @tilecore.jit(target="cpu", out_idx=-1)
    def backward(M, by=2, dtype="float32"):
        @T.prim_func
        def times(dB: T.Tensor((M,), dtype), dA: T.Tensor((M,), dtype)):
            with T.Kernel(1):
                for i in T.serial(M):
                    dA[i] = dB[i] * by

        return times

    multiply = make_lazy(fresh_name(), backward=backward)
    for by in (2, 5):
        a = torch.randn(4, requires_grad=True)
        multiply(4, by)(a).sum().backward()
        assert a.grad.tolist() == [by] * 4


def make_factor(name, default, **rules):
    @tilecore.jit(target="cpu", torch_op=name, **rules)
    def times(A, shift: T.int32 = -1, factor: T.float32 = default, block: int = 16, offset: float = 0.5):
        n = T.const("n")
        A: T.Tensor[[n], T.float32]
        B = T.empty((n,), T.float32)
        with T.Kernel(T.ceildiv(n, block)) as at:
            for i in T.Parallel(block):
                if at * block + i < n:
                    B[at * block + i] = A[at * block + i] * factor + shift + offset
        return B

    return times


def test_numbers_with_a_default():
    def backward(ctx, gradient):
        a, _ = ctx.saved_tensors
        assert len(a) == 4
        return gradient * 2.5, None, None

    times = make_factor(fresh_name(), 2.5, backward=backward, vmap="loop")
    assert str(times.op._schema).endswith("(Tensor A, SymInt shift=-1, float factor=2.5) -> Tensor")
    a = torch.arange(4.0)
    for call in (
        lambda x: times(x),
        lambda x: times(x, -1),
        lambda x: times(x, factor=2.5),
        lambda x: times(A=x, shift=-1, factor=2.5),
        lambda x: times.op(x),
    ):
        for run in both(call):
            torch.testing.assert_close(run(a), a * 2.5 - 0.5)
        torch.testing.assert_close(torch.vmap(call)(a[None]), (a * 2.5 - 0.5)[None])
        x = a.clone().requires_grad_()
        call(x).sum().backward()
        assert (x.grad == 2.5).all()
    torch.testing.assert_close(times(a, 3, 1.0), a + 3.5)
    torch.library.opcheck(times.op, (a,))


def test_a_default_that_a_schema_cannot_have():
    times = make_factor(fresh_name(), float("inf"))
    assert str(times.op._schema).endswith("(Tensor A, SymInt shift, float factor) -> Tensor")
    with pytest.raises(ArgumentError, match="shift, factor is missing"):
        times(torch.ones(4))


def test_another_default_is_another_operation():
    name = fresh_name()
    make_factor(name, 2.5)
    with pytest.raises(ArgumentError, match="exists already"):
        make_factor(name, 3.5)


@pytest.mark.parametrize(
    ("args", "kwargs", "message", "hint"),
    [
        ((), {}, "A is missing", None),
        ((1, 2.0, 32), {}, "it has no argument 'block'", "the parameter block keeps its default"),
        ((), {"offset": 1.0}, "it has no argument 'offset'", "offset: T.float32"),
        ((), {"fctor": 1.0}, "it has no argument 'fctor'", "did you mean 'factor'?"),
        ((), {"n": 4}, "it has no argument 'n'", None),
    ],
)
def test_arguments_that_the_operation_does_not_have(args, kwargs, message, hint):
    times = make_factor("tilecore_tests::factor_of_mistakes", 2.0)
    tensors = () if "missing" in message else (torch.ones(4),)
    with pytest.raises(ArgumentError, match=message) as caught:
        times(*tensors, *args, **kwargs)
    assert caught.value.expected == "times(A, shift, factor)"
    assert (hint or "") in (caught.value.hint or "")
    with pytest.raises(Exception, match="do not fit the operation"):
        torch.compile(lambda: times(*tensors, *args, **kwargs), fullgraph=True, backend="eager")()


def test_wrong_values_of_a_function_that_returns_kernels():
    multiply = make_lazy(fresh_name())
    with pytest.raises(ArgumentError, match="an argument is missing: M") as caught:
        multiply(by=3)
    assert caught.value.expected == "multiply(M, by=2, dtype='float32')"


@pytest.mark.parametrize("rules", [{"backward": print}, {"vmap": "loop"}, {"autocast": torch.float16}], ids=str)
def test_rules_without_an_operation(rules):
    with pytest.raises(ArgumentError, match="rules of an operation"):
        jit(scale, **rules)


def test_a_bare_function_under_torch_compile_names_torch_op():
    @tilecore.jit(target="cpu")
    def increased(A):
        n = T.const("n")
        A: T.Tensor[[n], T.float32]
        with T.Kernel(1):
            for i in T.serial(n):
                A[i] = A[i] + 1.0

    with pytest.raises(Exception, match="torch_op="):
        torch.compile(lambda x: increased(x), fullgraph=True, backend="eager")(torch.ones(3))


def test_sizes_of_a_program_may_stay_symbols():
    op = jit(scale, out_idx=-1, torch_op=fresh_name())
    run = torch.compile(lambda x: op(x, 2.0) + 1, fullgraph=True, backend="aot_eager", dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for size in (7, 64, 1000):
            a = torch.randn(size)
            torch.testing.assert_close(run(a), a * 2 + 1)
