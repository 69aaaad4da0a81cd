"""lower_shuffles: shuffles and ballots on targets whose warps are not the language's."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import UnsupportedError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call
from tilecore.ir.visit import collect

from .kit import lowered


@T.macro
def named(X, Y, tx):
    other = T.shfl_xor(X[tx], 1)  # here
    Y[tx] = other


@T.macro
def in_an_expression(X, Y, tx):
    Y[tx] = X[tx] + T.shfl_down(X[tx], 1)  # here


@T.macro
def in_a_condition(X, Y, tx):
    if T.ballot(X[tx] > 1) > 0:  # here
        Y[tx] = 1


@T.macro
def in_the_condition_of_a_loop(X, Y, tx):
    n = T.alloc_var("int32", init=0)
    while T.shfl_sync(X[tx], 0) > n:  # here
        n += 1
    Y[tx] = n


FORMS = {
    "T.shfl_xor": named,
    "T.shfl_down": in_an_expression,
    "T.ballot": in_a_condition,
    "T.shfl_sync": in_the_condition_of_a_loop,
}


def kernel_of(form):
    @T.prim_func
    def kernel(X: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            form(X, Y, T.get_thread_binding())

    return kernel


@pytest.mark.parametrize("name", FORMS)
def test_other_warps_are_refused_at_the_line(name):
    with pytest.raises(UnsupportedError, match=rf"{name} on a target whose warps have 16 threads") as caught:
        lowered(kernel_of(FORMS[name]), warp=16)
    assert caught.value.location is not None
    assert "# here" in caught.value.location.excerpt()


@pytest.mark.parametrize("warp", [32, 64])
@pytest.mark.parametrize("name", FORMS)
def test_warps_of_the_language_take_them(name, warp):
    func, _ = lowered(kernel_of(FORMS[name]), "lower_shuffles", warp=warp)
    assert {op_name(call) for call in collect(func.body, Call)} & {"simt.shuffle", "simt.vote"}
