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
    assert multiply(5, by=0.5)._name.startswith(f"{name}.v")
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
