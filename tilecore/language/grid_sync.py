"""T.sync_grid: the code after it sees what all blocks wrote before it.

On every target the kernel ends there, and another one begins. On-chip memory loses its contents, and values that are
computed from indices alone are computed again.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tilecore.errors import UnsupportedError
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import op_name, seq
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    DeclBuffer,
    Evaluate,
    Stmt,
    TensorLoad,
    Var,
    is_buffer_var,
)
from tilecore.ir.scopes import is_global
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import ANNOTATE
from tilecore.ir.visit import collect, substitute
from tilecore.language.kernel import open_kernel
from tilecore.tracing.current import current

CUTS = "grid_syncs"  # fact of the kernel's frame: how many statements stand before each T.sync_grid
_ONCE = (KernelHint.PRELUDE, KernelHint.IMPORT_SOURCE)  # hints that are not repeated


def sync_grid() -> None:
    """Wait for all blocks of the kernel: their writes to global memory are visible then. It stands in the T.Kernel
    itself, not in a loop or an `if`. Shared memory, fragments and variables lose their contents."""
    kernel = open_kernel("T.sync_grid")
    builder = current("T.sync_grid")
    if builder.frame is not kernel.frame:
        raise UnsupportedError(
            "T.sync_grid stands inside a loop or an `if`",
            expected="a statement directly in T.Kernel",
            hint="split the loop: write one T.Kernel for each step, or loop in the caller",
        ).at(builder.location)
    kernel.frame.facts.setdefault(CUTS, []).append(len(kernel.frame.statements))


def parts_of(frame: Any) -> list[Stmt]:
    """The bodies of the kernels into which the T.sync_grid calls split the frame of a T.Kernel."""
    cuts = frame.facts.get(CUTS)
    if not cuts:
        return [frame.body()]
    edges = [0, *cuts, len(frame.statements)]
    pieces = [list(frame.statements[a:b]) for a, b in pairwise(edges)]
    renamed: list[dict[Var, Var]] = [{} for _ in pieces]
    for part_index in range(1, len(pieces)):
        _insert_needed(pieces, part_index, renamed[part_index])
    return [_with_repeated(piece, names) for piece, names in zip(pieces, renamed, strict=True)]


def _insert_needed(pieces: list[list[Stmt]], part_index: int, renamed: dict[Var, Var]) -> None:
    """Inserts at the start of a piece the statements of earlier pieces that it needs: allocations of memory that no
    code has accessed yet are moved, and indices and hints are repeated."""
    needed = {var for statement in pieces[part_index] for var in collect(statement, Var)}
    moved: list[Stmt] = []
    for piece in reversed(pieces[:part_index]):
        for statement in reversed(tuple(piece)):
            if isinstance(statement, Bind) and statement.var in needed and statement.var not in renamed:
                _check_pure(statement)
                needed |= set(collect(statement.value, Var))
                renamed[statement.var] = Var(str(statement.var.name), statement.var.ty)
                moved.append(statement)
            elif isinstance(statement, (AllocBuffer, DeclBuffer)) and statement.buffer in needed:
                _check_fresh(statement, pieces[:part_index])
                moved.append(statement)
                piece.remove(statement)
            elif _is_hint(statement) and _buffers(statement) <= needed:
                moved.append(statement)
                if not all(is_global(buffer) for buffer in _buffers(statement)):
                    piece.remove(statement)
    pieces[part_index][:0] = reversed(moved)


def _buffers(statement: Stmt) -> set[Var]:
    return {var for var in collect(statement, Var) if is_buffer_var(var)}


def _with_repeated(statements: list[Stmt], repeated: dict[Var, Var]) -> Stmt:
    renamed_statements = []
    for statement in statements:
        if isinstance(statement, Bind) and statement.var in repeated:
            value = substitute(statement.value, repeated)
            renamed_statements.append(Bind(repeated[statement.var], value, span=statement.span))
        else:
            renamed_statements.append(substitute(statement, repeated))
    return seq(renamed_statements)


def _is_hint(statement: Stmt) -> bool:
    if not isinstance(statement, Evaluate) or op_name(statement.value) != ANNOTATE:
        return False
    return str(statement.value.args[0].value) not in _ONCE


def _check_pure(bind: Bind) -> None:
    """Checks a value that is recomputed: it must not read memory, whose contents may have changed."""
    if collect(bind.value, TensorLoad) or effect_in(bind.value):
        raise _used_across_error(str(bind.var.name), bind)


def _check_fresh(alloc: AllocBuffer | DeclBuffer, pieces: list[list[Stmt]]) -> None:
    """Checks that no code before the T.sync_grid accesses this memory."""
    for statement in (s for piece in pieces for s in piece):
        if not statement.same_as(alloc) and not _is_hint(statement) and alloc.buffer in collect(statement, Var):
            raise _used_across_error(str(alloc.buffer.name), statement)


def _used_across_error(name: str, statement: Stmt) -> UnsupportedError:
    return UnsupportedError(
        f"{name} is used before and after T.sync_grid",
        expected="values that are needed after it in global memory",
        hint="store it in a T.alloc_global, or allocate and load it again after T.sync_grid",
        location=location_of_span(statement.span),
    )
