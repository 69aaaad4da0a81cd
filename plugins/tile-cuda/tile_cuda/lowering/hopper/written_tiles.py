"""Which shared tiles threads write themselves."""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.ir.build import op_name
from tilecore.ir.nodes import BufferStore, Call, Stmt, Var
from tilecore.ir.scopes import is_shared
from tilecore.ir.visit import collect
from tilecore.lowering.simt.analysis.asynchronous import COPY


def written_by_threads(body: Stmt) -> set[Var]:
    """Shared tiles that threads store to or copy to, rather than tensor maps."""
    found = {s.buffer for s in collect(body, BufferStore)}
    for call in collect(body, Call):
        if op_name(call) == COPY:
            found.add(call.args[0].source)
        elif op_name(call) == instructions.STMATRIX:
            found.add(call.args[2].source)
    return {buffer for buffer in found if is_shared(buffer)}
