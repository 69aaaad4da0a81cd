"""Comparing tensors in tests."""

from __future__ import annotations

from typing import Any

from tilecore.profiler.compare import Tolerance, assert_close


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    verbose: bool = False,
    equal_nan: bool = True,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    base_name: str = "LHS",
    ref_name: str = "RHS",
) -> bool:
    """True when two tensors of one shape are close in all but a part of their elements; else raises AssertionError.

    An element is close when ``|a - b| <= atol + rtol * |b|``; at most ``max_mismatched_ratio`` of all need not be.
    equal_nan: NaN is close to NaN. check_*: these attributes must be the same. verbose: print how many are not close.
    base_name, ref_name: what the report calls the two. torch tensors and numpy arrays are taken.
    """
    for name, is_checked in (("device", check_device), ("dtype", check_dtype), ("layout", check_layout)):
        left, right = getattr(tensor_a, name, None), getattr(tensor_b, name, None)
        if is_checked and left != right:
            raise AssertionError(f"{base_name} and {ref_name} differ in {name}: {left} and {right}")
    if check_stride and _strides(tensor_a) != _strides(tensor_b):
        strides = f"{_strides(tensor_a)} and {_strides(tensor_b)}"
        raise AssertionError(f"{base_name} and {ref_name} differ in strides: {strides}")
    comparison = assert_close(
        tensor_a,
        tensor_b,
        Tolerance(rtol, atol, equal_nan),
        max_mismatched_ratio,
        subject=f"{base_name} against {ref_name}",
        base_name=base_name,
        ref_name=ref_name,
    )
    if verbose:
        print(f"{comparison.wrong} of {comparison.total} elements are not close")
    return True


def _strides(tensor: Any) -> tuple[int, ...]:
    """In elements."""
    if callable(getattr(tensor, "stride", None)):
        return tuple(tensor.stride())
    return tuple(step // tensor.itemsize for step in tensor.strides)
