"""place_dynamic_shared: buffers whose sizes only the call gives lie one after another in one arena."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore.language as T
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import AllocBuffer, BufferStore, TensorLoad, structural_equal
from tilecore.ir.scopes import ARENA
from tilecore.ir.visit import collect, substitute, variables

from ..kit import agrees
from ..one_pass import LOOPS, SIMT, around_pass

PASS = "place_dynamic_shared"
N, M = T.dynamic("n, m")


@T.prim_func
def three_buffers(
    A: T.Tensor((N,), "float32"),
    B: T.Tensor((M,), "int8"),
    C: T.Tensor((N,), "float32"),
    D: T.Tensor((N,), "float32"),
):
    with T.Kernel(1, threads=64):
        a, b, c = T.alloc_shared((N,), "float32"), T.alloc_shared((M,), "int8"), T.alloc_shared((N,), "float32")
        fixed = T.alloc_shared((64,), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.copy(C, c)
        T.fill(fixed, 1.0)
        for i in T.Parallel(N):
            D[i] = a[N - 1 - i] + T.cast(b[i % M], "float32") + c[i] + fixed[i % 64]


def only_kernel(module):
    (func,) = module.functions.values()
    return func


def at_call(expression, func, **sizes):
    """The value of an expression for these sizes of the call; other variables are zero."""
    values = {var: const(sizes.get(str(var.name), 0), dtype_of(var)) for var in variables(expression)}
    return constant(Analyzer().simplify(substitute(expression, values)))


@pytest.mark.parametrize("target", [SIMT, LOOPS])
def test_the_buffers_lie_in_one_arena(target):
    _, after, _ = around_pass(three_buffers, PASS, target)
    func = only_kernel(after)
    allocated = [node.buffer for node in collect(func.body, AllocBuffer)]
    assert [str(buffer.name) for buffer in allocated if str(buffer.scope()) == ARENA] == ["sized_by_call"]
    assert all(constant(buffer.shape[0]) is not None for buffer in allocated)
    names = {str(node.source.name) for node in collect(func.body, TensorLoad)}
    assert {"sized_by_call_float32", "sized_by_call_int8", "fixed"} <= names
    assert not {"a", "b", "c"} & (names | {str(node.buffer.name) for node in collect(func.body, BufferStore)})


@pytest.mark.parametrize("target", [SIMT, LOOPS])
@pytest.mark.parametrize(("n", "m"), [(32, 128), (33, 1), (1, 129), (0, 0), (1000, 77)])
def test_each_buffer_begins_behind_those_before_at_a_multiple_of_128_bytes(target, n, m):
    _, after, _ = around_pass(three_buffers, PASS, target)
    func = only_kernel(after)
    behind_a = (4 * n + 127) // 128 * 128
    behind_b = behind_a + (m + 127) // 128 * 128
    total = func.attrs[FunctionAttr.DYNAMIC_SHARED]
    assert at_call(total, func, n=n, m=m) == behind_b + behind_a
    stores = {}
    for node in collect(func.body, BufferStore):
        base = getattr(node.indices[0], "base", node.indices[0])
        stores.setdefault(str(node.buffer.name), set()).add(at_call(base, func, n=n, m=m))
    assert stores["sized_by_call_int8"] == {behind_a}
    assert stores["sized_by_call_float32"] == {0, behind_b // 4}


@pytest.mark.parametrize("target", [SIMT, LOOPS])
@pytest.mark.parametrize(("n", "m"), [(-1, 4), (4, -1)])
def test_a_negative_size_gives_no_arena(target, n, m):
    """The size is negative, whatever the others are, so that the call is refused."""
    _, after, _ = around_pass(three_buffers, PASS, target)
    func = only_kernel(after)
    assert at_call(func.attrs[FunctionAttr.DYNAMIC_SHARED], func, n=n, m=m) == -(2**31)


@pytest.mark.parametrize("target", [SIMT, LOOPS])
def test_kernels_of_constant_sizes_are_left_alone(target):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((64,), "float32")
            T.fill(s, 2.0)
            for i in T.Parallel(N):
                A[i] = s[i % 64]

    before, after, _ = around_pass(kernel, PASS, target)
    assert structural_equal(before, after)
    assert FunctionAttr.DYNAMIC_SHARED not in only_kernel(after).attrs


def test_vectors_of_any_indices_keep_their_lanes():
    """The loop's vectors load at consecutive, reversed and other indices."""
    _, after, _ = around_pass(three_buffers, PASS, LOOPS)
    loads = [node for node in collect(only_kernel(after).body, TensorLoad) if "call_int8" in str(node.source.name)]
    assert any(re.search(r"x\d+$", dtype_of(node.indices[0])) for node in loads)
    a, c = np.arange(37, dtype=np.float32), np.arange(37, dtype=np.float32) * 3
    b = np.arange(5, dtype=np.int8)
    *_, d = agrees(three_buffers, a, b, c, np.zeros(37, np.float32))
    np.testing.assert_array_equal(d, a[::-1] + b[np.arange(37) % 5] + c + 1)
