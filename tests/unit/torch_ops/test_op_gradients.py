"""Gradients of operations, by kernels and by functions in Python, against torch's own."""

from __future__ import annotations

import warnings

import pytest
from op_kernels import (
    N,
    add_into,
    compiled,
    fresh_name,
    multiplied,
    product,
    product_gradient,
    scale,
    scale_gradient,
    scaled,
    sum_and_difference,
)

import tilecore.language as T
from tilecore.errors import ArgumentError, UnsupportedError

torch = pytest.importorskip("torch")


def through(how, function):
    return function if how == "eager" else torch.compile(function, fullgraph=True, backend=how)


@pytest.mark.parametrize("how", ["eager", "aot_eager"])
@pytest.mark.parametrize("size", [1, 65])
def test_a_gradient_by_a_kernel(how, size):
    a = torch.randn(size, requires_grad=True)
    op = scaled()
    through(how, lambda x: op(x, 3.0).sum() * 2)(a).backward()
    torch.testing.assert_close(a.grad, torch.full((size,), 6.0))


@pytest.mark.parametrize("how", ["eager", "aot_eager"])
@pytest.mark.parametrize("needed", [(True, True), (True, False), (False, True)])
def test_gradients_of_two_arguments(how, needed):
    op = multiplied()
    a, b = (torch.randn(9, requires_grad=flag) for flag in needed)
    through(how, lambda x, y: op(x, y).square().sum())(a, b).backward()
    torch_a, torch_b = (x.detach().clone().requires_grad_(x.requires_grad) for x in (a, b))
    (torch_a * torch_b).square().sum().backward()
    for own, other in ((a, torch_a), (b, torch_b)):
        assert (own.grad is None) == (other.grad is None)
        if own.grad is not None:
            torch.testing.assert_close(own.grad, other.grad)


def test_gradcheck_in_double():
    @T.prim_func
    def square(A: T.Tensor((N,), "float64"), B: T.Tensor((N,), "float64")):
        with T.Kernel(1):
            for i in T.serial(N):
                B[i] = A[i] * A[i]

    @T.prim_func
    def square_gradient(A: T.Tensor((N,), "float64"), dB: T.Tensor((N,), "float64"), dA: T.Tensor((N,), "float64")):
        with T.Kernel(1):
            for i in T.serial(N):
                dA[i] = 2.0 * A[i] * dB[i]

    op = compiled(square, -1).torch_op(fresh_name(), backward=compiled(square_gradient, -1))
    a = torch.randn(6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(op, (a,))
    torch.library.opcheck(op, (a,))


def test_the_result_is_saved_where_the_backward_kernel_takes_it():
    @T.prim_func
    def exponential(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.serial(N):
                B[i] = T.exp(A[i])

    @T.prim_func
    def of_result(d_B: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), grad_A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.serial(N):
                grad_A[i] = d_B[i] * B[i]

    op = compiled(exponential, -1).torch_op(fresh_name(), backward=compiled(of_result, -1))
    a = torch.randn(5, requires_grad=True)
    op(a).sum().backward()
    torch.testing.assert_close(a.grad, a.detach().exp())


def test_gradients_that_are_no_dense_tensors_are_made_so():
    a = torch.randn(4, requires_grad=True)
    scaled()(a, 2.0).sum().backward()  # the gradient is one number, expanded
    assert a.grad.tolist() == [2, 2, 2, 2]


def test_a_gradient_by_a_function():
    seen = []

    def backward(ctx, gradient):
        a, result = ctx.saved_tensors
        seen.append((a.shape, result.shape))
        return gradient * 4.0, None

    op = compiled(scale, -1).torch_op(fresh_name(), backward=backward)
    a = torch.randn(4, requires_grad=True)
    op(a, 4.0).sum().backward()
    assert a.grad.tolist() == [4, 4, 4, 4]
    assert seen == [((4,), (4,))]


def test_a_context_of_ones_own():
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    def backward(ctx, gradient):
        return gradient * ctx.factor, None

    op = compiled(scale, -1).torch_op(fresh_name(), backward=backward, setup_context=setup_context)
    for run in (op, torch.compile(op, fullgraph=True, backend="aot_eager")):
        a = torch.randn(4, requires_grad=True)
        run(a, 4.0).sum().backward()
        assert a.grad.tolist() == [4, 4, 4, 4]


def test_several_results():
    def backward(ctx, of_sum, of_difference):
        difference = of_difference[:3, :4].float()
        return of_sum + difference, of_sum - difference

    op = compiled(sum_and_difference, [2, 3]).torch_op(fresh_name(), backward=backward)
    a, b = (torch.randn(3, 4, requires_grad=True) for _ in range(2))
    total, difference = op(a, b)
    (total.sum() + 2 * difference.sum()).backward()
    assert (a.grad == 3).all()
    assert (b.grad == -1).all()


@pytest.mark.parametrize(
    ("backward", "out_idx", "message"),
    [
        (scale, -1, "none of the call's"),
        (scale_gradient, None, "'dA' is none of the call's"),
        (product_gradient, [3, 4], "none of the call's"),
    ],
)
def test_kernels_that_are_no_gradient(backward, out_idx, message):
    @T.prim_func
    def negative(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.serial(N):
                Y[i] = -X[i]

    forward = compiled(scale if backward is scale_gradient else negative, -1)
    with pytest.raises(ArgumentError, match=message):
        forward.torch_op(fresh_name(), backward=compiled(backward, out_idx))


def test_a_result_that_is_the_gradient_of_no_argument():
    @T.prim_func
    def backward(dB: T.Tensor((N,), "float32"), s: T.float32, dX: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.serial(N):
                dX[i] = dB[i] * s

    with pytest.raises(ArgumentError, match="'dX' is the gradient of no argument"):
        compiled(scale, -1).torch_op(fresh_name(), backward=compiled(backward, -1))


def test_a_gradient_that_is_needed_and_not_computed():
    @T.prim_func
    def backward(B: T.Tensor((N,), "float32"), dC: T.Tensor((N,), "float32"), dA: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.serial(N):
                dA[i] = dC[i] * B[i]

    op = compiled(product, -1).torch_op(fresh_name(), backward=compiled(backward, -1))
    a, b = torch.randn(3, requires_grad=True), torch.randn(3)
    op(a, b).sum().backward()
    torch.testing.assert_close(a.grad, b)
    with pytest.raises(UnsupportedError, match="gradient of B is needed"):
        op(a, b.requires_grad_()).sum().backward()


def test_a_gradient_that_no_rule_gives_is_an_error():
    op = compiled(scale, -1).torch_op("tilecore_tests::without_gradient")
    a = torch.randn(3, requires_grad=True)
    result = op(a, 2.0)
    assert result.requires_grad
    with pytest.raises(UnsupportedError, match="gradient of tilecore_tests::without_gradient is needed") as caught:
        (result.sum() + a.sum()).backward()
    assert "backward=" in str(caught.value)
    assert op(a.detach(), 2.0).requires_grad is False


def test_the_gradient_of_a_gradient_by_a_kernel_is_an_error():
    a = torch.randn(3, requires_grad=True)
    (gradient,) = torch.autograd.grad(multiplied()(a, a.detach()).square().sum(), a, create_graph=True)
    with pytest.raises(UnsupportedError, match="multiplied_backward is needed"):
        gradient.sum().backward()


def test_kernels_that_write_their_arguments_have_no_gradient():
    with pytest.raises(UnsupportedError, match="C is written") as caught:
        compiled(add_into).torch_op(fresh_name(), backward=lambda ctx, *gradients: None)
    assert "out_idx" in str(caught.value)


@T.prim_func
def add_to(A: T.Tensor((30,), "float32"), total: T.Tensor((30,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(30):
            total[i] = total[i] + A[i] * 3.0


@T.prim_func
def count(A: T.Tensor((30,), "float32"), N: T.Tensor((1,), "int32")):
    with T.Kernel(1):
        for i in T.serial(30):
            if A[i] > 0:
                N[0] = N[0] + 1


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_an_operation_that_writes_its_arguments_refuses_gradients(backend):
    """Where torch would go on without the kernel's part of the gradient."""
    op = compiled(add_to).torch_op(fresh_name())

    def program(x):
        total = x * 1.0
        op(x, total)
        return total.sum()

    run = program if backend is None else torch.compile(program, fullgraph=True, backend=backend)
    x = torch.ones(30, requires_grad=True)
    with pytest.raises(Exception, match="writes its arguments, and operations that do have no gradient"):
        run(x)
    with torch.no_grad():
        assert run(x) == 120
    assert run(x.detach()) == 120
    with torch.inference_mode():
        assert run(torch.ones(30)) == 120


def test_integers_that_are_written_need_no_gradient():
    op = compiled(count).torch_op(fresh_name())
    found = torch.zeros(1, dtype=torch.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        op(torch.ones(30, requires_grad=True), found)
    assert found == 30
