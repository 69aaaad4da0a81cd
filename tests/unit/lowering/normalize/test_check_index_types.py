"""Targets without 64-bit integers: none stand in thread IR, and what 32-bit indices do not reach is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LimitError, PluginError, UnsupportedError
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import Expr, StringImm
from tilecore.ir.visit import collect

sys.path.insert(0, str(Path(__file__).parents[1]))
from restricted_backend import NARROW, restricted, thread_ir

m, n, k = (T.dynamic(name) for name in "mnk")
row, column = T.dynamic("row"), T.dynamic("column")


@T.prim_func
def product(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
    with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
        T.use_swizzle(4)
        a = T.alloc_shared((64, 32), "float16")
        b = T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for i in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
            T.copy(A[by * 64, i * 32], a)
            T.copy(B[i * 32, bx * 64], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 64, bx * 64])


@T.prim_func
def strided(A: T.StridedTensor((m, n), (row, column), "float32"), B: T.Tensor((m, n), "float32")):
    with T.Kernel(T.ceildiv(m, 8), threads=64) as b:
        whole = T.alloc_fragment((8, 128), "float32")
        sums = T.alloc_fragment((8,), "float32")
        for block in T.serial(T.ceildiv(n, 128)):
            T.copy(A[b * 8, block * 128], whole)
            T.reduce_sum(whole, sums, dim=1)
            for i, j in T.Parallel(8, 128):
                whole[i, j] = whole[i, j] / sums[i]
            T.copy(whole, B[b * 8, block * 128])


@T.prim_func
def two_kernels(A: T.Tensor((m, n), "float32"), B: T.Tensor((m,), "float32")):
    S = T.alloc_global((m, 4), "float32")
    with T.Kernel(m, 4, threads=32) as (bx, by):
        S[bx, by] = A[bx, by]
    with T.Kernel(m, threads=32) as b:
        for i in T.serial(4):
            T.atomic_add(B[b], S[b, i])


def types(module) -> set[str]:
    """Of everything in the functions: parameters, sizes of buffers, expressions."""
    nodes = [node for func in module.functions.values() for node in collect(func.body, Expr)]
    nodes += [size for func in module.functions.values() for param in func.params for size in _sizes(param)]
    return {dtype_of(node).partition("x")[0] for node in nodes if not isinstance(node, StringImm)}


def _sizes(param) -> list:
    return [node for size in getattr(param, "shape", None) or () for node in collect(size, Expr)]


@pytest.mark.parametrize("func", [product, strided, two_kernels], ids=lambda func: func.__name__)
def test_no_type_that_is_not_declared(func):
    with restricted():
        assert "int64" in types(thread_ir(func))
    with restricted(index_bits=32):
        dtypes = types(thread_ir(func))
    assert {dtype for dtype in dtypes if dtype.startswith(("int", "uint", "float", "bool"))} <= NARROW, dtypes


def refused(func, error=UnsupportedError, **changes):
    with restricted(index_bits=32, **changes), pytest.raises(error) as raised:
        thread_ir(func)
    place = raised.value.location
    return raised.value, Path(place.file).read_text().splitlines()[place.line - 1].strip()


@T.prim_func
def huge(A: T.Tensor((1 << 15, 1 << 15), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=32):
        B[0] = A[0, 0]


def test_tensors_of_known_sizes():
    error, line = refused(huge, LimitError)
    assert "A is larger than the 32-bit indices of target null reach" in str(error)
    assert error.found == f"{1 << 32} bytes"
    assert line.startswith("def huge(")


@T.prim_func
def wide_size(A: T.Tensor((T.dynamic("big", "int64"),), "float32")):
    with T.Kernel(1, threads=32):
        A[0] = 1


@T.prim_func
def wide_value(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        A[0] = T.cast(T.cast(A[1], "int64") * 3 >> 2, "int32")


@T.prim_func
def wide_loop(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(T.int64(8)):
            A[i] = 1


@T.prim_func
def pointer(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        T.call_extern("void", "helper", T.access_ptr(A[0], "rw"))


def test_pointers_have_no_element_type():
    with restricted(index_bits=32):
        thread_ir(pointer)


def test_integers_of_the_user():
    error, line = refused(wide_loop)
    assert "a loop counts in int64, which target null does not have" in str(error)
    assert line.startswith("for i in T.Parallel(")
    error, line = refused(wide_size)
    assert "big is a size of int64, which target null does not have" in str(error)
    error, line = refused(wide_value)
    assert "a value is converted to int64, which target null does not have" in str(error)
    assert line.startswith("A[0] = T.cast(")


@T.prim_func
def wide_constant(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        if A[0] < 1 << 40:
            A[0] = 1


def test_what_comes_out_of_the_passes_is_checked():
    error, line = refused(wide_constant)
    assert "int64" in str(error)
    assert line == "if A[0] < 1 << 40:"


def test_a_device_may_have_wide_values_and_narrow_indices():
    with restricted(index_bits=32, dtypes=NARROW | {"int64"}):
        assert "int64" in types(thread_ir(wide_value))
        assert "int64" not in types(thread_ir(product))


@T.prim_func
def scaled(A: T.StridedTensor((m, n), (row, 1), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(T.ceildiv(m, 8), threads=64):
        B[0] = A[0, 0]


def test_tensors_of_the_call():
    last = np.zeros(8, np.float32)
    fits, reaches_far = (
        np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3, 1), (s, 4)) for s in (64, 1 << 31)
    )
    with restricted(index_bits=32):
        kernel = tilecore.compile(scaled, target="null")
        kernel(fits, last)
        with pytest.raises(ArgumentError, match=r"A is larger than the kernel's 32-bit indices reach") as raised:
            kernel(reaches_far, last)
        assert "row = 536870912 from A.stride[0]" in raised.value.found
        assert raised.value.expected == f"at most {2**31 - 1} bytes"
    with restricted():
        tilecore.compile(scaled, target="null -variant=1")(reaches_far, last)  # the null backend launches nothing


@T.prim_func
def far(A: T.Tensor((1 << 15, 1 << 17), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=32) as b:
        B[b] = A[(1 << 15) - 1, b]


def test_wide_offsets_where_a_tensor_is_known_to_be_large():
    with restricted(index_bits=32, dtypes=NARROW | {"int64"}):
        assert "int64" in types(thread_ir(far))


def test_the_target_says_what_to_do():
    with restricted(index_bits=32, index_hint="use the other index"):
        kernel = tilecore.compile(scaled, target="null -variant=2")
        far = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3, 1), (1 << 31, 4))
        with pytest.raises(ArgumentError) as raised:
            kernel(far, np.zeros(8, np.float32))
    assert raised.value.hint == "use the other index"


def test_other_numbers_of_bits_are_no_capability():
    with restricted(index_bits=16), pytest.raises(PluginError, match="index_bits"):
        thread_ir(product)
