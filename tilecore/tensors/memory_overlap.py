"""Finds out whether two tensors, or two elements of one tensor, share memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore.tensors.views import TensorView

_EFFORT = 100_000  # steps that the exact search may take; plain strided layouts need few


def overlap(a: TensorView, b: TensorView) -> str:
    """ "no"; "same": both are the same bytes in the same order; "part": any other way of sharing.

    Exact for contiguous tensors; strided ones that interleave are searched for a common byte, and count as sharing
    when the search gets too long.
    """
    if a.buffer != b.buffer:
        return "no"
    low, high = a.span()
    other_low, other_high = b.span()
    if low == high or other_low == other_high or high <= other_low or other_high <= low:
        return "no"
    plain = a.is_contiguous and b.is_contiguous
    if (low, high) == (other_low, other_high) and (plain or (a.shape, a.strides) == (b.shape, b.strides)):
        return "same"
    return "part" if plain or _shares(_Layout.of(a), _Layout.of(b)) else "no"


def _shares(a: _Layout, b: _Layout) -> bool:
    import numpy

    try:
        effort: Any = _EFFORT
        return bool(numpy.shares_memory(a.array(), b.array(), max_work=effort))
    except numpy.exceptions.TooHardError:
        return True


def overlapping_axis(tensor: TensorView) -> int | None:
    """The first axis along which two elements of ``tensor`` share memory; None where each has its own."""
    if 0 in tensor.shape:
        return None
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True)):
        rest = axis + 1
        # elements that differ along this axis and are alike along those before it: one at 0, the others behind
        first = _Layout(tensor.address, tensor.shape[rest:], tensor.strides[rest:], tensor.itemsize)
        address, shape = tensor.address + stride * tensor.itemsize, (size - 1, *tensor.shape[rest:])
        others = _Layout(address, shape, tensor.strides[axis:], tensor.itemsize)
        if size > 1 and _shares(first, others):
            return axis
    return None


class _Layout:
    """Shows a layout to numpy, which computes with the addresses and never reads the memory. strides: in elements."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": f"|V{itemsize}",
            "data": (address, True),
            "strides": tuple(stride * itemsize for stride in strides),
        }

    @staticmethod
    def of(tensor: TensorView) -> _Layout:
        return _Layout(tensor.address, tensor.shape, tensor.strides, tensor.itemsize)

    def array(self) -> Any:
        import numpy

        return numpy.asarray(self)
