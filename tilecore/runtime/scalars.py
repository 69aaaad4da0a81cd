"""Converts scalar arguments (Python numbers, numpy scalars, 0-d tensors) to the 8 bytes that a kernel gets."""

from __future__ import annotations

import operator
import struct
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.tensors import torch_state

_FLOAT_FORMATS = {"float64": "<d", "float32": "<f", "tfloat32": "<f", "float16": "<e"}


class UnfitScalar(Exception):
    """A scalar parameter does not take the value. expected: the values that it takes. hint: what the user can do."""

    def __init__(self, expected: str, hint: str | None = None) -> None:
        super().__init__(expected)
        self.expected = expected
        self.hint = hint


def integer_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer or bool dtype."""
    return FACTS[dtype].integer_range


def slot_of(value: Any, dtype: str) -> int:
    """The slot of ``value`` as ``dtype``, an int64: integers sign- or zero-extended, floats as the bits of ``dtype``.

    Raises UnfitScalar when the value is not such a number or is out of range.
    """
    value = _number(value, dtype)
    if FACTS[dtype].kind != "float":
        return _wrapped(_integer(value, dtype))
    if not (hasattr(type(value), "__float__") or hasattr(type(value), "__index__")):
        raise UnfitScalar(_kind_of(dtype))
    try:
        float_value = float(value)
    except (TypeError, ValueError):
        raise UnfitScalar(_kind_of(dtype)) from None
    except OverflowError:
        raise UnfitScalar(f"a number in the range of {dtype}") from None
    return _float_bits(float_value, dtype)


def _number(value: Any, dtype: str) -> Any:
    """``value`` as a Python number: 0-d tensors and numpy scalars give their item."""
    if isinstance(value, (bool, int, float)):
        return value
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "item"):
        if tuple(shape) != ():
            raise UnfitScalar(_kind_of(dtype), "pass one element, such as x[0]")
        if getattr(value, "requires_grad", False) and torch_state.loses_gradient(value):
            raise UnfitScalar(
                f"{_kind_of(dtype)}, without a gradient", "pass x.detach(): a kernel computes no gradient"
            )
        return value.item()
    return value


def _integer(value: Any, dtype: str) -> int:
    if isinstance(value, float):
        hint = f"convert it: int({value!r})" if value.is_integer() else None
        raise UnfitScalar(_kind_of(dtype), hint)
    try:
        integer = operator.index(value)
    except TypeError:
        raise UnfitScalar(_kind_of(dtype)) from None
    low, high = integer_range(dtype)
    if not low <= integer <= high:
        raise UnfitScalar(f"{low} to {high}" if dtype != "bool" else _kind_of(dtype))
    return integer


def _float_bits(value: float, dtype: str) -> int:
    finite = value - value == 0
    outside = UnfitScalar(f"a number in the range of {dtype}, at most {FACTS[dtype].max}")
    if dtype in _FLOAT_FORMATS:
        try:
            packed = struct.pack(_FLOAT_FORMATS[dtype], value)
        except OverflowError:
            raise outside from None
    else:
        from tilecore.dtypes import dtype as element_type

        kind = element_type(dtype).as_numpy()
        rounded = kind.type(value)
        # a type without infinity turns one (and what is too large) into a NaN
        back = float(rounded)
        if value == value and (back != back or (finite and back - back != 0)):
            raise outside
        packed = rounded.tobytes()
    return _wrapped(int.from_bytes(packed, "little"))


def _wrapped(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _kind_of(dtype: str) -> str:
    kinds = {"float": "a number", "bool": "True or False"}
    return kinds.get(FACTS[dtype].kind, "an integer") + f" for {dtype}"
