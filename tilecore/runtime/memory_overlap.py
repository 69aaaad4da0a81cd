"""Whether two tensors share memory."""

from __future__ import annotations

from typing import Any

from tilecore.runtime.tensors import TensorView

_EFFORT = 100_000  # steps that the exact search may take; plain strided layouts need few


def overlap(a: TensorView, b: TensorView) -> str:
    """ "no"; "same": both are the same bytes in the same order; "part": any other way of sharing.

    Exact for contiguous tensors; strided ones that interleave are searched for a common byte, and count as sharing
    when the search gets too long.
    """
    low, high = a.span()
    other_low, other_high = b.span()
    if low == high or other_low == other_high or high <= other_low or other_high <= low:
        return "no"
    plain = a.is_contiguous and b.is_contiguous
    if (low, high) == (other_low, other_high) and (plain or (a.shape, a.strides) == (b.shape, b.strides)):
        return "same"
    return "part" if plain or _share_a_byte(a, b) else "no"


def _share_a_byte(a: TensorView, b: TensorView) -> bool:
    import numpy

    try:
        effort: Any = _EFFORT
        return bool(numpy.shares_memory(_Layout(a).array(), _Layout(b).array(), max_work=effort))
    except numpy.exceptions.TooHardError:
        return True


class _Layout:
    """Shows a layout to numpy, which computes with the addresses and never reads the memory."""

    def __init__(self, tensor: TensorView) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": tensor.shape,
            "typestr": f"|V{tensor.itemsize}",
            "data": (tensor.address, True),
            "strides": tuple(stride * tensor.itemsize for stride in tensor.strides),
        }

    def array(self) -> Any:
        import numpy

        return numpy.asarray(self)
