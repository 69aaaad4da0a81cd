"""Derivatives that operations do not have are refused, where torch would go on with zeros or speak of its own parts."""

from __future__ import annotations

import pytest
from op_kernels import compiled, fresh_name, scale, scaled

import tilecore.language as T
from tilecore.errors import ArgumentError, UnsupportedError

torch = pytest.importorskip("torch")


@T.prim_func
def count(A: T.Tensor((30,), "float32"), N: T.Tensor((1,), "int32")):
    with T.Kernel(1):
        for i in T.serial(30):
            if A[i] > 0:
                N[0] = N[0] + 1


def with_a_tangent(run, x):
    with torch.autograd.forward_ad.dual_level():
        return run(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))


FORWARD = {
    "dual": with_a_tangent,
    "jvp": lambda run, x: torch.func.jvp(run, (x,), (x,)),
    "jacfwd": lambda run, x: torch.func.jacfwd(run)(x),
}


@pytest.mark.parametrize("how", FORWARD)
@pytest.mark.parametrize("name", ["with a rule", "without a rule", "writes"])
def test_forward_mode_is_refused(how, name):
    """Torch would take the result for a constant."""
    bare = compiled(scale, -1).torch_op(fresh_name())
    into = compiled(scale).torch_op(fresh_name())

    def writing(x):
        result = torch.zeros_like(x)
        into(x, 2.0, result)
        return result

    run = {"with a rule": lambda x: scaled()(x, 2.0), "without a rule": lambda x: bare(x, 2.0), "writes": writing}[name]
    with pytest.raises(UnsupportedError, match="no derivative in forward mode"):
        FORWARD[how](run, torch.ones(4))
    with torch.autograd.forward_ad.dual_level():
        assert run(torch.ones(4)).tolist() == [2] * 4


def test_integers_have_no_tangent():
    op = compiled(count).torch_op(fresh_name())
    found = torch.zeros(1, dtype=torch.int32)
    with_a_tangent(lambda x: op(x, found), torch.ones(30))
    assert found == 30


@pytest.mark.parametrize("transformation", ["grad", "vjp", "jacrev", "hessian"])
def test_transformations_that_torch_has_not_for_operations(transformation):
    def run(x):
        return scaled()(x, 2.0).sum()

    transformed = getattr(torch.func, transformation)
    arguments = (run, torch.ones(4)) if transformation == "vjp" else (run,)
    with pytest.raises(UnsupportedError, match=r"cannot be differentiated by torch\.func") as caught:
        transformed(*arguments)(torch.ones(4))
    assert "torch.autograd.grad" in caught.value.expected


@pytest.mark.parametrize("found", [None, (None,)], ids=str)
def test_a_function_that_returns_too_few_gradients(found):
    op = compiled(scale, -1).torch_op(fresh_name(), backward=lambda ctx, gradient: found)
    with pytest.raises(ArgumentError, match="too few gradients") as caught:
        op(torch.ones(4, requires_grad=True), 2.0).sum().backward()
    assert (caught.value.found, caught.value.expected.partition(";")[0]) == ("1", "2, one for each of A, s")
