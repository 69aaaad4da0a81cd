"""Runs a kernel on a simulator, compares its outputs with numpy in float64, and checks that its code uses the tensor
unit and DMA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import tilecore


def normal(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Values around 0; for integers, values of the whole range."""
    kind, rng = element(dtype), np.random.default_rng(seed)
    if kind.kind in "iu":
        return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)
    return rng.standard_normal(shape, np.float32).astype(kind)


def element(dtype: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, dtype, None) or dtype)


def empty(dtype: str, *shape: int) -> np.ndarray:
    """An output that the kernel must write completely: it contains a value that no test expects."""
    return np.full(shape, 99, element(dtype))


def wide(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "iu" else array.astype(np.float64)


def run(
    backend: str,
    func: Any,
    arrays: Sequence[np.ndarray],
    want: Mapping[int, np.ndarray],
    tolerance: float = 0.0,
    between: float = 0.0,
) -> Any:
    """The kernel after a call with copies of ``arrays``.

    want: the outputs, by position. tolerance: how far from them an element may be, relative to 1 + its magnitude.
    between: the same of the CModel's outputs and of our simulator's; 0: bit by bit.
    """
    kernel, mine = _outputs("sim", func, arrays, want)
    if backend == "cmodel":
        kernel, theirs = _outputs("cmodel", func, arrays, want)
        for position, values in mine.items():
            near(theirs[position], wide(values), between, f"parameter {position}: CModel and simulator")
    else:
        no_element_by_element(kernel)
    for position, expected in want.items():
        near((theirs if backend == "cmodel" else mine)[position], expected, tolerance, f"parameter {position}")
    return kernel


def _outputs(backend: str, func: Any, arrays: Any, want: Any) -> tuple[Any, dict[int, np.ndarray]]:
    kernel = tilecore.compile(func, target="tpu", execution_backend=backend)
    arguments = [array.copy() for array in arrays]
    kernel(*arguments)
    return kernel, {position: arguments[position] for position in want}


def near(got: np.ndarray, want: np.ndarray, tolerance: float, name: str) -> None:
    if tolerance:
        np.testing.assert_allclose(wide(got), wide(want), rtol=tolerance, atol=tolerance, err_msg=name)
    else:
        np.testing.assert_array_equal(wide(got), wide(want), err_msg=name)


def no_element_by_element(kernel: Any) -> None:
    """Every loop nest and tile operation is commands of the tensor unit, the matrix unit or DMA."""
    report = kernel.explain().data
    left = [row for row in report.get("nests", []) if row["by"] != "tensor unit"]
    assert not left, left
    units = {"gemm": "matrix unit", "reduce": "tensor unit", "cumsum": "tensor unit"}
    for row in report.get("tile_ops", []):
        if row["op"] in units:
            assert row["implementation"] == units[row["op"]], row
    assert "ELEMENT(" not in kernel.get_kernel_source()


def reports(kernel: Any) -> list[Any]:
    """The reports of the last call on tile-tpu's simulator, one for each ``T.Kernel``."""
    return kernel.loaded.owner.reports
