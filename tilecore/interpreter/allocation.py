"""Allocations, and buffers declared as views of others."""

from __future__ import annotations

from math import prod

from tilecore.errors import LanguageError, LimitError, UnsupportedError
from tilecore.interpreter.analysis import ON_CHIP, viewed_buffer
from tilecore.interpreter.memory import POISON, Storage, View
from tilecore.interpreter.pointers import compile_at_address
from tilecore.interpreter.scope import BufferInfo, Expression, Scope, Statement
from tilecore.interpreter.state import State
from tilecore.ir.nodes import AllocBuffer, DeclBuffer, IntImm


def compile_allocation(scope: Scope, node: AllocBuffer) -> Statement:
    """New memory at each execution; global memory once per call. Private memory has a copy for each lane."""
    info = scope.define_buffer(node.buffer)
    _check_scope(scope, info)
    shape = _shape(scope, node.buffer)
    unit = scope.facts.units.get(info.root, info.kind.storage.itemsize)
    poison = 1 if info.kind.kind == "bool" else POISON
    private = info.is_private and scope.lanes != "single"
    location = scope.site.location

    def run(state: State) -> None:
        if info.is_global and state.env[info.slot] is not None:
            return
        sizes = tuple(int(size(state)) for size in shape)
        lanes = state.lanes if private else ()
        nbytes = prod(lanes) * prod(sizes) * info.kind.storage.itemsize
        try:
            storage = Storage.fresh(nbytes, unit, state.options.check, poison)
        except (MemoryError, ValueError):  # ValueError: more bytes than numpy can count
            raise LimitError(
                f"the interpreter has no memory for {info.name}", location=location, found=f"{nbytes} bytes"
            ) from None
        state.env[info.slot] = View(info.name, info.kind, sizes, storage, lanes)

    return run


def _check_scope(scope: Scope, info: BufferInfo) -> None:
    if info.scope not in (*ON_CHIP, "global"):
        raise scope.error(
            UnsupportedError,
            f"the interpreter does not know memory scope {info.scope!r}",
            found=f"{info.name} in {info.scope}",
            expected=", ".join([*ON_CHIP, "global"]),
        )
    if scope.lanes == "parallel" and not info.is_private:
        raise scope.error(
            LanguageError,
            f"{info.name} is allocated inside T.Parallel",
            found=f"memory of the whole block ({info.scope})",
            expected="T.alloc_local or T.alloc_var, which belong to one iteration",
        )


def _shape(scope: Scope, buffer: object) -> list[Expression]:
    return [scope.expression(size) for size in buffer.shape]  # type: ignore[attr-defined]


def compile_alias(scope: Scope, node: DeclBuffer) -> Statement:
    """Another shape or element type for the memory of a buffer; or a tensor at an address."""
    viewed = viewed_buffer(node)
    if viewed is None:
        return compile_at_address(scope, node)
    source = scope.buffer(viewed)
    info = scope.define_buffer(node.buffer)
    offset = getattr(node.buffer.ty, "elem_offset", None)
    if offset is not None and not (isinstance(offset, IntImm) and int(offset) == 0):
        raise scope.error(UnsupportedError, f"{info.name} is a view that does not start at the beginning of its source")
    if len(node.buffer.strides):
        raise scope.error(UnsupportedError, f"{info.name} is a view with strides of its own")
    shape, site = _shape(scope, node.buffer), scope.site

    def run(state: State) -> None:
        view = state.env[source.slot]
        sizes = tuple(int(size(state)) for size in shape)
        source_bytes, view_bytes = view.size * source.kind.storage.itemsize, prod(sizes) * info.kind.storage.itemsize
        if source_bytes != view_bytes:
            raise site.error(
                state,
                LanguageError,
                f"{info.name} is a view of {source.name} but has another size",
                found=f"{view_bytes} bytes, shape {sizes} of {info.kind.name}",
                expected=f"{source_bytes} bytes, as shape {view.shape} of {source.kind.name}",
            )
        state.env[info.slot] = View(info.name, info.kind, sizes, view.storage, view.lanes)

    return run
