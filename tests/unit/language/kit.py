"""Runs a few lines as the body of a kernel and gives back what they made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tilecore.language as T


def in_kernel(body: Callable[..., Any]) -> Any:
    """What ``body(X, i)`` returns while a kernel is built; X: float32[8, 8], i: the block's index."""
    results = []

    @T.prim_func
    def kernel(X: T.Tensor((8, 8), "float32"), P: T.Tensor((8,), "int32")):
        with T.Kernel(8) as i:
            results.append(body(X, i))
            X[i, 0] = P[i]

    assert kernel.ir is not None
    return results[0]


def kind(value: Any) -> str:
    """Element type of an expression."""
    return str(value.ty.dtype)
