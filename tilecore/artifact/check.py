"""Checks an artifact that was read from a file: the type of every field, and the target of every reference.

A digest tells that a file is as it was written, not that what was written makes sense.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilecore.artifact.dims import Dim, DimExpr
from tilecore.artifact.records import Artifact, Entry, ScalarParam, Symbol, TensorParam


def require_sound(artifact: Artifact) -> None:
    """Raise ValueError, which says what is wrong, unless the launcher can work with ``artifact``."""
    for name in ("name", "target", "backend", "adapter", "source_format", "binary_format"):
        _require(isinstance(getattr(artifact, name), str), name, getattr(artifact, name))
    _require(_is_name(artifact.name) and _is_name(artifact.adapter), "name or adapter", "nothing")
    symbols = {symbol.name for symbol in artifact.symbols if _is_name(symbol.name)}
    scalars = {param.name for param in artifact.params if isinstance(param, ScalarParam)}
    for param in artifact.params:
        _check_param(param, symbols)
        if isinstance(param, TensorParam):
            _require(_are_dims((param.needed,), symbols | scalars), f"the use of {param.name}", param.needed)
    for symbol in artifact.symbols:
        _check_symbol(symbol, artifact)
    for workspace in artifact.workspaces:
        _require(_is_name(workspace.name) and _is_name(workspace.dtype), "a workspace", workspace)
        _require(_are_dims(workspace.shape, symbols), "the shape of a workspace", workspace.shape)
    for entry in artifact.entries:
        _check_entry(entry, symbols)
    for assumption in artifact.assumptions:
        _require(_is_name(assumption.text), "an assumption", assumption)
        _require(_are_dims((assumption.condition,), symbols), "an assumption", assumption.condition)
    for position in artifact.out_idx:
        good = _is_count(position) and position < len(artifact.params)
        _require(good and isinstance(artifact.params[position], TensorParam), "out_idx", position)
    for name in ("versions", "report"):
        table = getattr(artifact, name)
        _require(isinstance(table, Mapping) and all(isinstance(key, str) for key in table), name, table)


def _check_param(param: TensorParam | ScalarParam, symbols: set[str]) -> None:
    _require(_is_name(param.name) and _is_name(param.dtype), "a parameter", param)
    if isinstance(param, ScalarParam):
        return
    _require(_are_dims(param.shape, symbols), f"the shape of {param.name}", param.shape)
    if param.strides is not None:
        good = len(param.strides) == len(param.shape) and _are_dims(param.strides, symbols)
        _require(good, f"the strides of {param.name}", param.strides)
    _require(param.access in ("r", "w", "rw"), f"the access of {param.name}", param.access)
    _require(_is_count(param.align) and param.align > 0, f"the alignment of {param.name}", param.align)
    _require(_is_count(param.packed) and param.packed > 0, f"the packing of {param.name}", param.packed)
    _require(param.pointer in ("", "address", "table"), f"the pointers of {param.name}", param.pointer)


def _check_symbol(symbol: Symbol, artifact: Artifact) -> None:
    kind, position, axis = symbol.source
    good = _is_name(symbol.name) and _is_name(symbol.dtype) and _is_count(position) and _is_count(axis)
    _require(good and position < len(artifact.params), "a symbol", symbol)
    _require(_is_int(symbol.scale) and symbol.scale != 0 and _is_int(symbol.offset), "a symbol", symbol)
    param = artifact.params[position]
    if kind == "scalar":
        _require(isinstance(param, ScalarParam), f"the source of {symbol.name}", symbol.source)
        return
    sizes = {"shape": param.shape, "stride": param.strides}.get(kind) if isinstance(param, TensorParam) else None
    _require(sizes is not None and axis < len(sizes), f"the source of {symbol.name}", symbol.source)


def _check_entry(entry: Entry, symbols: set[str]) -> None:
    _require(_is_name(entry.symbol), "the symbol of an entry", entry.symbol)
    _require(_are_dims((*entry.grid, entry.shared_bytes), symbols), f"the sizes of {entry.symbol}", entry.grid)
    good = all(_is_count(count) and count > 0 for count in entry.threads)
    _require(good, f"the threads of {entry.symbol}", entry.threads)
    work = entry.work
    good = isinstance(work, (int, float)) and not isinstance(work, bool) and 0 <= work < 2**63
    _require(good, f"the work of {entry.symbol}", work)
    good = isinstance(entry.attributes, Mapping) and all(isinstance(key, str) for key in entry.attributes)
    _require(good, f"the attributes of {entry.symbol}", entry.attributes)


def _require(good: bool, subject: str, value: Any) -> None:
    if not good:
        raise ValueError(f"{subject} cannot be {str(value)[:80]!r}")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_int(value) and 0 <= value < 2**63


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _are_dims(dims: Iterable[Dim], symbols: set[str]) -> bool:
    return all(dim.names() <= symbols if isinstance(dim, DimExpr) else _is_int(dim) for dim in dims)
