"""Slices of buffers: what Python does with one, and the buffer that a slice is when it is indexed.

A slice is an operand of tile operations and a view of its buffer: ``X = A[4:8, :]`` has ``X[0, j]`` for ``A[4, j]``,
further slices and a shape. It has no arithmetic. Imported for its effect on TVM's class; while no kernel is built, that
class's operators are as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilecore.errors import WrongTypeError
from tilecore.ir.nodes import IntImm, TensorRegion
from tilecore.language.symbols import ConstDim
from tilecore.language.values import SIGNS
from tilecore.tracing.current import active


def slice_text(region: TensorRegion) -> str:
    """The slice as Python writes it: ``A[b, 0:64]``."""
    parts = []
    for part in region.region:
        is_single = isinstance(part.extent, IntImm) and int(part.extent) == 1
        parts.append(str(part.min) if is_single else f"{part.min}:{part.min + part.extent}")
    return f"{region.source.name}[{', '.join(parts)}]"


def _arithmetic(sign: str) -> Callable[..., Any]:
    def refuse(region: TensorRegion, other: Any = None) -> Any:
        raise WrongTypeError(
            f"`{sign}` is applied to a slice of {region.source.name}",
            found=f"{slice_text(region)}, a tile",
            expected="values of elements",
            hint="compute element by element: for i in T.Parallel(n): dst[i] = ... with elements "
            f"{region.source.name}[...] with one index for each axis",
        ).at(_place())

    return refuse


def mark(region: TensorRegion, ranges: Sequence[Any], axes: tuple[int, ...], lanes: int) -> TensorRegion:
    """``region`` with a note of what it is a slice of: the ranges along the axes of a buffer of vectors of so many
    lanes, and the axes that the slice has. The others had an index, as ``b`` in ``A[b, :]``."""
    region.of_slice = (tuple(ranges), axes, lanes)
    return region


def _buffer_of(region: TensorRegion) -> Any:
    """The slice as a buffer."""
    from tilecore.language.slice_buffers import SliceBuffer

    ranges = tuple(region.region)
    return SliceBuffer(region, *getattr(region, "of_slice", (ranges, tuple(range(len(ranges))), 1)))


def _element(region: TensorRegion, index: Any) -> Any:
    return _buffer_of(region)[index]


def _store(region: TensorRegion, index: Any, value: Any) -> None:
    _buffer_of(region).write(index, value)


def _iterated(region: TensorRegion) -> Any:
    raise WrongTypeError(
        f"a slice of {region.source.name} is iterated by Python",
        found=slice_text(region),
        hint="loop over its indices: for i in T.Parallel(n), or T.serial(n)",
    ).at(_place())


def _counted(region: TensorRegion) -> Any:
    raise WrongTypeError(
        f"len() is applied to a slice of {region.source.name}",
        found=slice_text(region),
        hint="buffer.shape has the sizes",
    ).at(_place())


def _place() -> Any:
    builder = active()
    return None if builder is None else builder.location


def _compared(sign: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """``==`` with a number or a value; with another node it stays TVM's."""
    refuse = _arithmetic(sign)

    def method(region: TensorRegion, other: Any) -> Any:
        from tilecore.language.values import is_kernel_value

        number = isinstance(other, (int, float, ConstDim)) or is_kernel_value(other)
        if active() is not None and number and not isinstance(other, TensorRegion):
            return refuse(region, other)
        return plain(region, other)

    return method


def _while_building(name: str, override: Callable[..., Any]) -> None:
    plain = getattr(TensorRegion, name, None)

    def method(self: Any, *others: Any) -> Any:
        if active() is not None or plain is None:
            return override(self, *others)
        return plain(self, *others)

    setattr(TensorRegion, name, method)


for _word, _sign in {**SIGNS, "pow": "**", "matmul": "@"}.items():
    _while_building(f"__{_word}__", _arithmetic(_sign))
    if _word not in ("lt", "le", "gt", "ge"):
        _while_building(f"__r{_word}__", _arithmetic(_sign))
for _word, _sign in {"neg": "-", "pos": "+", "invert": "~", "abs": "abs()"}.items():
    _while_building(f"__{_word}__", _arithmetic(_sign))
for _word, _sign in {"eq": "==", "ne": "!="}.items():
    setattr(TensorRegion, f"__{_word}__", _compared(_sign, getattr(TensorRegion, f"__{_word}__")))
TensorRegion.__hash__ = TensorRegion.__mro__[1].__hash__  # type: ignore[method-assign]
_while_building("__getitem__", _element)
_while_building("__setitem__", _store)
_while_building("__iter__", _iterated)
_while_building("__len__", _counted)


def _attribute(name: str) -> property:
    """An attribute of the slice as a buffer."""

    def read(region: TensorRegion) -> Any:
        return getattr(_buffer_of(region), name)

    return property(read)


for _word in ("shape", "dtype", "ndim", "strides", "scope"):
    setattr(TensorRegion, _word, _attribute(_word))
