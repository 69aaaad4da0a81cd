"""Finds the shared tiles that threads write themselves."""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.ir.build import op_name
from tilecore.ir.nodes import BufferStore, Call, Stmt, Var
from tilecore.ir.scopes import is_shared
from tilecore.ir.thread_calls import COPY_ASYNC
from tilecore.ir.visit import collect


def written_by_threads(body: Stmt) -> set[Var]:
    """The shared tiles that threads store or copy to; not those that tensor maps write."""
    written = {s.buffer for s in collect(body, BufferStore)}
    for call in collect(body, Call):
        if op_name(call) == COPY_ASYNC:
            written.add(call.args[0].source)
        elif op_name(call) == instructions.STMATRIX:
            written.add(call.args[2].source)
    return {buffer for buffer in written if is_shared(buffer)}
