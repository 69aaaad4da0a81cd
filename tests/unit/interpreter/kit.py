"""Small helpers: arrays of any element type, kernels of one expression, and tile IR built by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from element_types import FLOATS, element

import tilecore.language as T
from tilecore.interpreter import interpret
from tilecore.ir.nodes import AttrStmt, BufferRegion, Call, Evaluate, IterVar, PrimFunc, Range, SeqStmt, Var, tirx


def sample(dtype: str, shape: Any, seed: int = 0) -> np.ndarray:
    """Varied small values: integers within +-100 (what the type allows), floats around 0."""
    rng = np.random.default_rng(seed)
    kind = element(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in ("int4", "uint4"):
        low, high = (-8, 7) if dtype == "int4" else (0, 15)
        return rng.integers(low, high + 1, shape).astype(np.int8).astype(kind)
    if kind.kind in "iu":
        low = 0 if kind.kind == "u" else -100
        return rng.integers(low, 101, shape).astype(kind)
    return rng.standard_normal(shape).astype(np.float32).astype(kind)


def wide(array: np.ndarray) -> np.ndarray:
    """The values as float64 or int64, for comparing."""
    array = np.asarray(array)
    return (
        array.astype(np.int64) if array.dtype.kind in "iub" or "int4" in str(array.dtype) else array.astype(np.float64)
    )


def rounded(value: np.ndarray, dtype: str) -> np.ndarray:
    """float64 values rounded once to ``dtype``; 8-bit floats saturate. (ml_dtypes goes through float32: twice.)"""
    kind = element(dtype)
    value = np.asarray(value)
    if dtype not in FLOATS or dtype in ("float64", "float32", "float16"):
        return value.astype(kind)
    facts = ml_dtypes.finfo(kind)
    lowest = np.frexp(float(facts.smallest_normal))[1]
    exponent = np.maximum(np.frexp(value.astype(np.float64))[1], lowest)
    step = np.ldexp(1.0, exponent - facts.nmant - 1)
    near = np.rint(value / step) * step
    top = float(facts.max)
    return (np.clip(near, -top, top) if dtype.startswith("float8") else near).astype(kind)


def map_elements(expression: Callable[..., Any], result: str, *arrays: np.ndarray, dtypes: Any = None, **options: Any):
    """``expression`` of the elements of ``arrays`` (1-D, one length), computed by a kernel of one T.Parallel."""
    names = [*(dtypes or [str(a.dtype) for a in arrays]), *[None] * 3]
    names = ["bool" if n == "bool" else n for n in names]
    n = len(arrays[0])
    first, second, third = (name or "int32" for name in names[:3])
    operands = [*arrays, *[np.zeros(n, np.int32)] * (3 - len(arrays))]

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), first), B: T.Tensor((n,), second), C: T.Tensor((n,), third), Y: T.Tensor((n,), result)
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = expression(*(A[i], B[i], C[i])[: len(arrays)])

    y = np.zeros(n, element(result))
    interpret(kernel, *operands, y, **options)
    return y


# -- tile IR by hand ---------------------------------------------------------------------------------------------


def buffer(name: str, shape: Any, dtype: str = "float32", scope: str = "global") -> Var:
    return tirx.decl_buffer(shape, dtype, name, scope=scope, layout=None)


def region(buf: Var, *ranges: tuple[Any, Any]) -> BufferRegion:
    """A part of a buffer: the first index and the number of indices of each axis."""
    return BufferRegion(buf, [Range.from_min_extent(start, extent) for start, extent in ranges])


def whole(buf: Var) -> BufferRegion:
    return region(buf, *[(0, extent) for extent in buf.shape])


def block(*statements: Any) -> Any:
    """The statements in sequence."""
    return statements[0] if len(statements) == 1 else SeqStmt(list(statements))


def launch(body: Any, *grid: Any, threads: Any = (), block_vars: Any = (), thread_vars: Any = ()) -> Any:
    """``body`` as a kernel: for each launch axis a variable, or a fresh one."""
    axes = []
    for position, extent in enumerate(grid):
        var = block_vars[position] if position < len(block_vars) else Var("bxyz"[0] + "xyz"[position], "int32")
        axes.append((var, extent, f"blockIdx.{'xyz'[position]}"))
    for position, extent in enumerate(threads):
        var = thread_vars[position] if position < len(thread_vars) else Var("t" + "xyz"[position], "int32")
        axes.append((var, extent, f"threadIdx.{'xyz'[position]}"))
    for var, extent, tag in reversed(axes):
        body = AttrStmt(IterVar(Range(0, extent), var, IterVar.ThreadIndex, tag), "thread_extent", extent, body)
    return body


def function(params: list[Any], *statements: Any, name: str = "main") -> PrimFunc:
    return PrimFunc(params, block(*statements)).with_attr("global_symbol", name)


def evaluate(name: str, *args: Any) -> Any:
    return Evaluate(Call(name, list(args), ret_ty="void"))
