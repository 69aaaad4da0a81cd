"""Buffers that are declared rather than allocated: views, which share the memory of another buffer, and tensors at
addresses, whose memory is where an int64 says (T.make_tensor of a pointer)."""

from __future__ import annotations

from typing import Any

from tilecore.ir.nodes import Call, DeclBuffer, Expr, Stmt, Var
from tilecore.ir.visit import collect

AT_ADDRESS = "tirx.reinterpret"  # of an int64 as a pointer: the data of a tensor at an address


def memory_roots(body: Stmt) -> dict[Var, Var]:
    """Buffers that are views or have views, each with the one whose memory it is, and tensors at addresses, each with
    itself."""
    sources: dict[Var, Var] = {}
    roots: dict[Var, Var] = {}
    for declaration in collect(body, DeclBuffer):
        source = source_of(declaration)
        if source is None:
            roots[declaration.buffer] = declaration.buffer
        else:
            sources[declaration.buffer] = source
    for buffer in [*sources, *sources.values()]:
        root = buffer
        while root in sources:
            root = sources[root]
        roots[buffer] = root
    return roots


def source_of(declaration: DeclBuffer) -> Var | None:
    """The buffer that a view shares its memory with; None for a tensor at an address."""
    return None if address_in(declaration) is not None else declaration.data.args[0]


def address_in(declaration: DeclBuffer) -> Expr | None:
    """The address of a tensor at an address, an int64; None for a view."""
    data = declaration.data
    return data.args[0] if isinstance(data, Call) and data.op.name == AT_ADDRESS else None


def at_address(buffer: Var, address: Expr, span: Any = None) -> DeclBuffer:
    """The declaration of a tensor whose first element is at an address."""
    return DeclBuffer(buffer, data=Call(AT_ADDRESS, [address], ret_ty="handle"), span=span)


def sources_in(body: Stmt) -> set[Var]:
    """The buffers that have views."""
    return {source for d in collect(body, DeclBuffer) if (source := source_of(d)) is not None}
