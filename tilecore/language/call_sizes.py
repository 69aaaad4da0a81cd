"""Sizes of memory that the call gives: expressions of T.dynamic sizes and of integer scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecore.errors import LanguageError
from tilecore.ir.nodes import Bind, Call, Expr, TensorLoad, Var
from tilecore.ir.visit import collect, substitute, variables
from tilecore.tracing.current import without_builder

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder


def size_of_call(builder: Builder, size: Expr, subject: str) -> Expr:
    """``size`` without the names that the kernel gave to parts of it. Raises LanguageError where it depends on what
    only the running kernel knows: an index, a loop, memory."""
    size = without_names(builder, size)
    with without_builder():  # == of variables is no comparison of the kernel here
        known = not _changing(builder) & variables(size) and not collect(size, TensorLoad, Call)
    if not known:
        raise LanguageError(
            f"{subject}: the size {builder.in_place(size)} is not known when the kernel is called",
            expected="constants, or expressions of T.dynamic sizes and of integer scalars of the call",
            hint="choose a tile size and loop over the axis",
        )
    return size


def without_names(builder: Builder, size: Expr) -> Expr:
    """``size`` with the values in place of the names that the kernel gave to them."""
    with without_builder():  # == of variables is no comparison of the kernel here
        values = {s.var: s.value for frame in builder.frames for s in frame.statements if isinstance(s, Bind)}
        while inner := {var: values[var] for var in variables(size) if var in values}:
            size = substitute(size, inner)
    return size


def _changing(builder: Builder) -> set[Var]:
    """The variables of the open loops, and the indices of blocks and threads."""
    changing: set[Var] = set()
    for frame in builder.frames:
        if "var" in frame.facts:
            changing.add(frame.facts["var"])
        if frame.kind == "kernel":
            kernel = frame.facts["kernel"]
            changing.update([*kernel.thread_vars, *kernel.block_vars])
    return changing
