"""Helpers that compile, run and inspect kernels for sm_90a on the simulated device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import tilecore
from tilecore.interpreter import interpret

TARGET = "cuda -arch=sm_90a -multiprocessors=3"  # so few that blocks of a small grid take several tiles
CONFIGS = tilecore.PassConfigKey
Kinds = tuple[str, str, str]


def built(func: Any, *off: CONFIGS, target: str = TARGET, configs: dict[CONFIGS, Any] | None = None) -> Any:
    """The kernel, whose loops have num_stages slots; ``off``: pass configurations to set."""
    settings = {CONFIGS.TL_DISABLE_MORE_STAGES: True, **(configs or {}), **dict.fromkeys(off, True)}
    return tilecore.compile(func, target=target, execution_backend="sim", pass_configs=settings)


def element(dtype: str) -> np.dtype:
    return np.dtype(getattr(np, dtype, None) or getattr(ml_dtypes, dtype))


def small(dtype: str, shape: Sequence[int], seed: int = 0, most: int = 3) -> np.ndarray:
    """Integers within +-most, whose products and sums are exact in every type."""
    least = 0 if dtype.startswith("uint") else -most
    return np.random.default_rng(seed).integers(least, most + 1, shape).astype(element(dtype))


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def equal(got: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(wide(got), wide(expected))


def as_interpreted(func: Any, kernel: Any, *args: Any, rtol: float = 0, atol: float = 0) -> None:
    """Checks that the kernel writes the same as the interpreter."""
    got, expected = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    kernel(*got)
    interpret(func.ir, *expected)
    for mine, other in zip(got, expected, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_allclose(wide(mine), wide(other), rtol=rtol, atol=atol)


def ran_as_interpreted(func: Any, *off: CONFIGS) -> Any:
    """The kernel, which writes the same as the interpreter but for rounding.

    Its tensors of float16 are random, those of float32 are results.
    """
    kernel = built(func, *off)
    random = np.random.default_rng(1)
    arrays = []
    for param in kernel.params:
        shape, is_half = [int(extent) for extent in param.shape], str(param.dtype).endswith("float16")
        arrays.append(random.uniform(-1, 1, shape).astype(np.float16) if is_half else np.zeros(shape, np.float32))
    as_interpreted(func, kernel, *arrays, rtol=2e-3, atol=2e-3)
    return kernel


def rows(kernel: Any, topic: str) -> list[dict[str, Any]]:
    """The notes of the compiler on a topic."""
    return [dict(row) for row in kernel.explain().data.get(topic, ())]


def chosen(kernel: Any, op: str) -> list[str]:
    """The implementations of a tile operation, in the order of the code."""
    return [row["implementation"] for row in rows(kernel, "tile_ops") if row["op"] == op]


def declined(kernel: Any, op: str, implementation: str) -> set[str]:
    """The reasons why this implementation was not chosen for a tile operation."""
    names_and_reasons = [why for row in rows(kernel, "tile_ops") if row["op"] == op for why in row["declined"]]
    return {reason for name, reason in names_and_reasons if name == implementation}


def refusals(kernel: Any) -> set[str]:
    """The reasons why warps have no roles, or why threads load tiles."""
    return {row["declined"] for row in rows(kernel, "warp_roles") if "declined" in row}


def has_roles(kernel: Any) -> bool:
    return any("producer" in row for row in rows(kernel, "warp_roles"))


def body(kernel: Any) -> str:
    """The emitted source, without the digests in the names of kernels, which tell settings apart."""
    return re.sub(r"(_kernel\w*)_[0-9a-f]{8}\b", r"\1", str(kernel.get_kernel_source()))


def count(kernel: Any, pattern: str) -> int:
    return len(re.findall(pattern, body(kernel)))
