"""Builds the errors about sizes: symbols, shapes, strides and grids that do not agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tilecore.errors import ArgumentError, LaunchError
from tilecore.runtime.index_limits import LARGEST, SPLIT
from tilecore.runtime.size_text import (
    bindings_text,
    expression_text,
    is_plain,
    shape_text,
    sizes_text,
    source_text,
    tuple_text,
    where_text,
)

if TYPE_CHECKING:
    from tilecore.artifact.dims import Dim
    from tilecore.artifact.records import Assumption, Entry, TensorParam, Workspace
    from tilecore.runtime.call_plan import BoundSymbol, CallPlan
    from tilecore.tensors.views import TensorView


def not_linear(plan: CallPlan, symbol: BoundSymbol, size: int) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {symbol.place} is {size}, which is not {source_text(symbol)} for any integer {symbol.name}"
    )


def symbol_range(plan: CallPlan, symbol: BoundSymbol, size: int, value: int) -> ArgumentError:
    where = f"{symbol.place} is {size}"
    gives = "" if value == size else f", which makes {symbol.name} {value}"
    wide = -(2**31) <= value < 2**31
    hint = None if wide or symbol.high > 2**31 else f'declare it with 64 bits: T.dynamic("{symbol.name}", "int64")'
    return ArgumentError(
        f"{plan.name}(): {where}{gives}",
        expected=f"{symbol.name} from {symbol.low} to {symbol.high}",
        hint=hint,
    )


def no_size(plan: CallPlan, quantity: str, dim: Dim, symbols: Mapping[str, int], result: str) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): {quantity} has no value: {dim} gives {result}", found=bindings_text(plan, (dim,), symbols)
    )


def negative_output(
    plan: CallPlan, declared: TensorParam, shape: Sequence[int], symbols: Mapping[str, int]
) -> ArgumentError:
    where = where_text(bindings_text(plan, declared.shape, symbols))
    return ArgumentError(
        f"{plan.name}(): the shape of {declared.name}, which the call allocates, is negative",
        found=f"{shape_text(declared)} is {tuple_text(shape)}{where}",
    )


def odd_packed_output(plan: CallPlan, declared: TensorParam, shape: Sequence[int]) -> ArgumentError:
    return ArgumentError(
        f"{plan.name}(): the last axis of {declared.name}, which the call allocates, cannot be packed",
        found=f"shape {tuple_text(shape)}",
        expected=f"a multiple of {declared.packed}",
    )


def shape(
    plan: CallPlan,
    declared: TensorParam,
    view: TensorView,
    axis: int,
    size: int,
    expected: int,
    symbols: Mapping[str, int],
) -> ArgumentError:
    actual = f"shape {tuple_text(view.shape)}"
    if declared.packed > 1:
        actual += f", each element of the last axis holding {declared.packed}"
    place = f"{declared.name}.shape[{axis}]"
    return _size_error(plan, place, declared.shape[axis], (size, expected), symbols, actual, shape_text(declared))


def stride(
    plan: CallPlan,
    declared: TensorParam,
    view: TensorView,
    axis: int,
    size: int,
    expected: int,
    symbols: Mapping[str, int],
) -> ArgumentError:
    assert declared.strides is not None
    actual = f"strides {tuple_text(view.strides)} for shape {tuple_text(view.shape)}"
    place, expected_text = f"{declared.name}.stride[{axis}]", f"strides {sizes_text(declared.strides)}"
    return _size_error(plan, place, declared.strides[axis], (size, expected), symbols, actual, expected_text)


def _size_error(
    plan: CallPlan,
    place: str,
    dim: Dim,
    sizes: tuple[int, int],
    symbols: Mapping[str, int],
    actual: str,
    expected_text: str,
) -> ArgumentError:
    """The error for a wrong size. sizes: the actual size at ``place``, and the expected one, the value of ``dim``."""
    size, expected = sizes
    if isinstance(dim, int):
        message = f"{place} is {size}, expected {expected}"
    elif isinstance(dim.tree, str):
        source = plan.symbols[plan.symbol_index[dim.tree]]
        origin = source.place if is_plain(source) else f"{source.place} = {source_text(source)}"
        message = f"{dim.tree} is {expected} from {origin} but {size} from {place}"
    else:
        message = f"{place} is {size}, expected {expression_text(dim)} = {expected}"
        expected_text += where_text(bindings_text(plan, (dim,), symbols))
    return ArgumentError(f"{plan.name}(): {message}", found=actual, expected=expected_text)


def index_range(
    plan: CallPlan, memory: TensorParam | Workspace, extent: int, symbols: Mapping[str, int]
) -> ArgumentError:
    strides = getattr(memory, "strides", None) or ()
    return ArgumentError(
        f"{plan.name}(): {memory.name} is larger than the kernel's 32-bit indices reach",
        found=f"{extent} bytes" + where_text(bindings_text(plan, (*memory.shape, *strides), symbols)),
        expected=f"at most {LARGEST} bytes",
        hint=plan.index_hint or SPLIT,
    )


def grid(plan: CallPlan, entry: Entry, sizes: Sequence[int], shared: int, symbols: Mapping[str, int]) -> ArgumentError:
    negative = min(*sizes, shared) < 0
    message = "the sizes of the launch are negative" if negative else "the launch has too many blocks"
    where = where_text(bindings_text(plan, (*entry.grid, entry.shared_bytes), symbols))
    actual = f"grid {tuple_text(sizes)}, {shared} bytes of shared memory{where}"
    return ArgumentError(f"{plan.name}(): {message}", found=actual)


def broken_assumption(plan: CallPlan, assumption: Assumption, symbols: Mapping[str, int]) -> LaunchError:
    values = bindings_text(plan, (assumption.condition,), symbols)
    return LaunchError(
        f"{plan.name}(): an assumption of the kernel does not hold for this call",
        found=values or None,
        expected=f"Assume: {assumption.text}",
        hint="pass sizes and numbers for which it holds, or take the T.assume out of the kernel",
    )


def shared(plan: CallPlan, entry: Entry, size: int, limit: int, symbols: Mapping[str, int]) -> ArgumentError:
    """Shared memory of a size that the call gives, and that a block cannot have."""
    where = where_text(bindings_text(plan, (entry.shared_bytes,), symbols))
    if size < 0:
        return ArgumentError(f"{plan.name}(): a size of the shared memory of {entry.symbol} is negative", found=where)
    return ArgumentError(
        f"{plan.name}(): a block of {entry.symbol} needs {size} bytes of shared memory",
        found=f"{size} bytes{where}",
        expected=f"0 to {limit} bytes",
        hint="pass smaller sizes, or loop over the axis with tiles of a constant size",
    )
