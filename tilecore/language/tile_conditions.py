"""T.any_of and T.all_of: of conditions, and of the elements of buffers and slices."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.build import nest, store
from tilecore.ir.nodes import BufferLoad, Expr, ForKind, IntImm, TensorRegion, tirx
from tilecore.ir.scopes import is_fragment
from tilecore.language.buffers import BufferHandle, LocalVar
from tilecore.language.conditions import as_condition, logical_and, logical_or
from tilecore.language.memory import alloc_var
from tilecore.language.regions import extents, region_of
from tilecore.language.values import as_expr
from tilecore.tracing.current import current

_MOST_WRITTEN_OUT = 16  # elements that are joined in one expression; of more a loop goes through them


def any_of(*conditions: Any, buffer: Any = None) -> Any:
    """Is one of the conditions true? A buffer or a slice among them stands for all of its elements.

    Each thread looks at the elements itself, so a fragment, whose elements different threads have, is refused.
    buffer: a condition by keyword.
    """
    return _joined(conditions, buffer, "T.any_of", logical_or, False)


def all_of(*conditions: Any, buffer: Any = None) -> Any:
    """Are all the conditions true? A buffer or a slice among them stands for all of its elements, as in T.any_of."""
    return _joined(conditions, buffer, "T.all_of", logical_and, True)


def _joined(
    conditions: tuple[Any, ...], buffer: Any, subject: str, join: Callable[[Any, Any], Expr], neutral: bool
) -> Any:
    conditions = conditions if buffer is None else (*conditions, buffer)
    if not conditions:
        raise LanguageError(
            f"{subject} is called without conditions", expected="one or more conditions, separated by commas"
        )
    operands = [_of_tile(c, subject, neutral) if isinstance(c, (BufferHandle, TensorRegion)) else c for c in conditions]
    result = operands[0]
    for operand in operands[1:]:
        result = join(result, operand)
    return result


def _of_tile(tile: Any, subject: str, neutral: bool) -> Expr:
    """The condition of all elements of a tile. neutral: the result for a tile without elements."""
    region = region_of(tile, subject)
    reduction = "T.reduce_bitand" if neutral else "T.reduce_bitor"
    if is_fragment(region.source):
        raise UnsupportedError(
            f"{subject} of the fragment {region.source.name}: each thread has some of its elements only",
            expected="a tile in shared memory, in global memory, or of T.alloc_local",
            hint=f"reduce it, {reduction}(tile, out, dim=0), or copy it to shared memory",
        ).at(current(subject).location)
    sizes = extents(region)
    if all(isinstance(size, int) for size in sizes) and prod(sizes) <= _MOST_WRITTEN_OUT:
        return _written_out(region, sizes, neutral)
    return _by_loop(region, neutral)


def _written_out(region: TensorRegion, sizes: list[int], neutral: bool) -> Expr:
    """One expression that reads every element, without jumps in between."""
    join = tirx.bitwise_and if neutral else tirx.bitwise_or
    result: Any = None
    for offsets in product(*map(range, sizes)):
        element = _element(region, [IntImm("int32", offset) for offset in offsets])
        result = element if result is None else join(result, element)
    return current().hold(result)


def _by_loop(region: TensorRegion, neutral: bool) -> Expr:
    """A variable in which a loop over the elements joins them."""
    builder = current()
    variable: LocalVar = alloc_var("bool", init=neutral)
    variable.name_once(builder, "condition")
    join = tirx.bitwise_and if neutral else tirx.bitwise_or

    def step(offsets: list[Any]) -> Any:
        return store(variable.buffer, join(variable.place(), _element(region, offsets)), [0], builder.span)

    builder.emit(nest([part.extent for part in region.region], step, kind=ForKind.SERIAL, span=builder.span))
    return variable.expr()


def _element(region: TensorRegion, offsets: list[Any]) -> Expr:
    """Is this element of the region other than 0?"""
    indices = [part.min + as_expr(offset) for part, offset in zip(region.region, offsets, strict=True)]
    return as_condition(BufferLoad(region.source, indices, span=current().span))
