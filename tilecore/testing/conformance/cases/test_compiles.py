"""Level 1: kernels become source, the same each time."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.compiler import CompileOptions, emit, lower
from tilecore.plugins import manager

from .kit import lacking

LEVEL = 1


def source_of(func, target):
    backend, resolved = manager.resolve(str(target))
    module, _ = lower(func.ir, backend, resolved, CompileOptions())
    return emit(module, backend, resolved).source


def doubled(n=100):
    @T.prim_func
    def doubled_kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            for i in T.Parallel(32):
                if bx * 32 + i < n:
                    Y[bx * 32 + i] = X[bx * 32 + i] * 2

    return doubled_kernel


def added(n=100):
    @T.prim_func
    def added_kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            for i in T.Parallel(32):
                if bx * 32 + i < n:
                    Y[bx * 32 + i] = X[bx * 32 + i] + 3

    return added_kernel


def test_source(target):
    func = doubled()
    lacking(func, target)
    assert source_of(func, target).strip()


def test_the_same_source_each_time(target):
    lacking(doubled(), target)
    assert source_of(doubled(), target) == source_of(doubled(), target)


def test_other_kernels_are_other_source(target):
    lacking(doubled(), target)
    sources = {source_of(func, target) for func in (doubled(), doubled(101), added())}
    assert len(sources) == 3


def test_the_kernels_name_is_in_the_source(target):
    lacking(doubled(), target)
    assert "doubled_kernel" in source_of(doubled(), target)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8", "uint8", "int64", "float64"])
def test_what_is_declared_compiles(target, dtype):
    @T.prim_func
    def moved(X: T.Tensor((64,), dtype), Y: T.Tensor((64,), dtype)):
        with T.Kernel(2, threads=32) as bx:
            for i in T.Parallel(32):
                Y[bx * 32 + i] = X[bx * 32 + i]

    lacking(moved, target)
    assert source_of(moved, target).strip()
