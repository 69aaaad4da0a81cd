"""outline_kernels: one function for each T.Kernel, all with the same parameters; nothing may stand outside."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.contract.state import Workspaces
from tilecore.errors import TilecoreError
from tilecore.ir.build import constant
from tilecore.ir.nodes import AttrStmt, IRModule
from tilecore.ir.visit import collect
from tilecore.lowering.buffers.outline_kernels import outline_kernels

from ..kit import lowered

N = T.dynamic("n")


@T.prim_func
def single(A: T.Tensor((8,), "int32")):
    with T.Kernel(2, 3, threads=(32, 2)) as (x, y):
        A[x + y] = x


@T.prim_func
def several(s: T.float32, A: T.Tensor((N,), "float32"), k: T.int32):
    with T.Kernel(T.ceildiv(N, 4)) as b:
        A[b * 4] = s
    W = T.alloc_global((N, 2), "float32")
    with T.Kernel(1, k):
        W[0, 0] = A[0]
    with T.Kernel(2, 3, 4):
        A[1] = W[0, 0]


def outlined(func):
    module, env = lowered(func, "outline_kernels")
    assert isinstance(module, IRModule)
    return {str(var.name_hint): function for var, function in module.functions.items()}, env


def text(values):
    return [str(constant(v)) if constant(v) is not None else str(v) for v in values]


def test_one_kernel():
    functions, env = outlined(single)
    (func,) = functions.values()
    assert list(functions) == ["single_kernel"]
    assert func.attrs["global_symbol"] == "single_kernel"
    assert text(func.attrs["tile.grid"]) == ["2", "3", "1"]
    assert text(func.attrs["tile.threads"]) == ["32", "2", "1"]
    assert [str(v.name) for v in func.attrs["tile.block_vars"]][:2] == ["x", "y"]
    assert not any(node.attr_key == "thread_extent" for node in collect(func.body, AttrStmt))
    assert env.state(Workspaces).buffers == []


def test_several_kernels_in_order_with_the_same_parameters():
    functions, env = outlined(several)
    assert list(functions) == ["several_kernel_0", "several_kernel_1", "several_kernel_2"]
    for func in functions.values():
        assert [str(p.name) for p in func.params] == ["A", "W", "s", "k", "n"], "tensors, workspaces, scalars, symbols"
    grids = [text(func.attrs["tile.grid"]) for func in functions.values()]
    assert "n" in grids[0][0]
    assert grids[1:] == [["1", "k", "1"], ["2", "3", "4"]]
    assert [str(w.name) for w in env.state(Workspaces).buffers] == ["W"]


def test_a_module_is_left_as_it_is():
    module, env = lowered(single, "outline_kernels")
    assert outline_kernels(module, env).same_as(module)


def test_statements_outside_kernels_are_refused():
    def outside(A: T.Tensor((8,), "int32")):
        A[0] = 1
        with T.Kernel(1):
            A[1] = 1

    with pytest.raises(TilecoreError) as caught:
        lowered(T.prim_func(outside), "outline_kernels")
    assert "T.Kernel" in str(caught.value)
    assert caught.value.location is not None
