"""Python's operators on a slice of a buffer: a slice is an operand of tile operations and has no arithmetic. Imported
for its effect on TVM's class; while no kernel is built, that class is as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.errors import LanguageError, WrongTypeError
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


def _indexed(region: TensorRegion, index: Any, value: Any = None) -> Any:
    name, rank = region.source.name, len(region.region)
    raise LanguageError(
        f"a slice of {name} is indexed again",
        found=f"[{_text(index)}] of {slice_text(region)}",
        expected=f"one pair of brackets with an index for each of the {rank} axes",
        hint=f"write {name}[{', '.join('ijklmn'[:rank])}]",
    ).at(_place())


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


def _text(index: Any) -> str:
    if isinstance(index, tuple):
        return ", ".join(map(_text, index))
    if isinstance(index, slice):
        return ":".join("" if part is None else str(part) for part in (index.start, index.stop))
    return str(index)


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
_while_building("__getitem__", _indexed)
_while_building("__setitem__", _indexed)
_while_building("__iter__", _iterated)
_while_building("__len__", _counted)
