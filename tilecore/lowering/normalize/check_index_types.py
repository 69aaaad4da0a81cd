"""Checks that indices reach: tensors must be small enough for the target's, and lowered code for a target with 32-bit
indices must have no wider integers that the target lacks.

``Capabilities.index_bits`` is 32 for such a target. The launch checks the sizes that are known only at the call
(``tilecore/runtime/index_limits.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tilecore.contract.passes import PassEnv
from tilecore.dtypes import FACTS
from tilecore.errors import LimitError, Location, UnsupportedError
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import (
    AllocBuffer,
    DeclBuffer,
    Expr,
    IRModule,
    PointerType,
    PrimFunc,
    Stmt,
    StringImm,
    Var,
    is_buffer_var,
)
from tilecore.ir.scopes import is_global
from tilecore.ir.spans import location_of_span, place_of_parameter
from tilecore.ir.visit import children, collect
from tilecore.runtime.index_limits import LARGEST, SPLIT

WIDE = ("int64", "uint64")
LARGEST_OF_ALL = 2**63 - 1  # bytes that addresses of 64 bits reach


def refuse_large_tensors(func: PrimFunc, env: PassEnv) -> None:
    """Refuses global buffers of constant size that are too large for 32-bit indices, where there are no wider ones, and
    everywhere those that no address of 64 bits reaches."""
    is_narrow = env.capabilities.index_bits == 32 and "int64" not in env.capabilities.dtypes
    limit = LARGEST if is_narrow else LARGEST_OF_ALL
    parameters = [(p, partial(place_of_parameter, func.span, str(p.name))) for p in func.params if is_buffer_var(p)]
    inside = [(n.buffer, partial(location_of_span, n.span)) for n in collect(func.body, AllocBuffer, DeclBuffer)]
    for buffer, where in (*parameters, *inside):
        extent = _extent(buffer) if is_global(buffer) else None
        if extent is not None and extent > limit:
            env.refuse(_too_large(buffer, extent, limit, where(), env))


def _too_large(buffer: Var, extent: int, limit: int, where: Location | None, env: PassEnv) -> LimitError:
    bits = 32 if limit == LARGEST else 64
    return LimitError(
        f"{buffer.name} is larger than the {bits}-bit indices of target {env.target.kind} reach",
        location=where,
        found=f"{extent} bytes",
        expected=f"at most {limit} bytes",
        hint=(env.capabilities.index_hint or SPLIT) if bits == 32 else None,
    )


def _extent(buffer: Var) -> int | None:
    """The bytes from the first element to the last; None if they depend on sizes of the call."""
    shape = [constant(size) for size in buffer.shape]
    strides = [constant(stride) for stride in buffer.strides]
    if None in shape or None in strides:
        return None
    elements = 1
    for axis, size in enumerate(shape):
        elements = elements + (size - 1) * abs(strides[axis]) if strides else elements * size  # type: ignore[operator, arg-type]
    return elements * max(1, FACTS[dtype_of(buffer)].bits // 8)


def refuse_wide_integers(module: IRModule, env: PassEnv) -> None:
    """Raises UnsupportedError for a 64-bit integer in the lowered code that ``Capabilities.dtypes`` does not have."""
    dtypes = env.capabilities.dtypes
    lacking = {dtype for dtype in WIDE if dtypes and dtype not in dtypes}
    for func in module.functions.values():
        if not lacking or not isinstance(func, PrimFunc):
            continue
        for param in func.params:
            _refuse(param, lacking, place_of_parameter(func.span, str(param.name)), env)
        for part, span in _expressions(func.body, func.span):
            for value in collect(part, Expr):
                _refuse(value, lacking, location_of_span(span), env)


def _refuse(value: Any, lacking: set[str], where: Location | None, env: PassEnv) -> None:
    has_element_type = not isinstance(value, StringImm) and not isinstance(value.ty, PointerType)
    dtype = dtype_of(value).partition("x")[0] if has_element_type else ""
    if dtype in lacking:
        text = " ".join(str(value).split())
        raise UnsupportedError(
            f"a value has the type {dtype}, which target {env.target.kind} does not have",
            location=where,
            found=text if len(text) <= 100 else text[:100] + "...",
            expected="integers of at most 32 bits",
            hint='compute it in int32: T.cast(value, "int32")',
        )


def _expressions(statement: Stmt, span: Any) -> Iterator[tuple[Any, Any]]:
    """The expressions of all statements, each with the span of its statement or of an enclosing statement."""
    span = getattr(statement, "span", None) or span
    inner = list(children(statement))
    names = ("loop_var", "min", "extent", "condition", "buffer", "var", "value", "indices")
    for name in names:
        part = getattr(statement, name, None)
        if part is not None:
            yield part, span
    for child in inner:
        yield from _expressions(child, span)
