"""Moves the layouts that a kernel annotates (T.annotate_layout, T.annotate_padding) from hints to ``RequestedLayouts``.

A layout never changes a result, so a layout that a buffer cannot have is not an error: the kernel compiles without it,
and ``kernel.explain()`` gives the reason.
"""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import LanguageError
from tilecore.ir.attributes import KernelHint, LayoutAttr
from tilecore.ir.build import constant, nothing
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Evaluate, PrimFunc, Stmt, Var, structural_map
from tilecore.ir.scopes import is_fragment, is_shared
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.written_layouts import fragment_layout, memory_layout, padded
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.simt.state import RequestedLayouts
from tilecore.lowering.tile_ops.choice import note_rejected_layout

_KEYS = (KernelHint.LAYOUT, KernelHint.PADDING)


def read_layouts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    requested = RequestedLayouts()
    env.publish(requested)
    views = set(memory_roots(func.body))

    def read(body: Stmt, threads: Threads) -> Stmt:
        reader = _Reader(threads.count, views, requested, env)
        return structural_map(body, (Evaluate, reader.statement))

    return func.with_body(each_kernel(func.body, read))


class _Reader:
    """Reads the layout hints of one kernel. views: buffers that are views or have views."""

    def __init__(self, threads: int, views: set[Var], requested: RequestedLayouts, env: PassEnv) -> None:
        self.threads, self.views, self.requested, self.env = threads, views, requested, env

    def statement(self, node: Evaluate) -> Stmt:
        call = as_tile_call(node)
        if call is None or call.op.name != "annotate" or str(call.key) not in _KEYS:
            return node
        try:
            self._note(call)
        except LanguageError as error:
            error.at(location_of_span(call.span))
            raise
        return nothing()

    def _note(self, call: TileCall) -> None:
        buffer = call.rest[0].source
        if is_fragment(buffer) and str(call.key) == "layout":
            self._fragment(buffer, call)
        elif not is_shared(buffer):
            note_rejected_layout(self.env, buffer, "only shared memory and fragments have layouts")
        elif buffer in self.views:
            note_rejected_layout(self.env, buffer, "the buffer is a view or has views")
        else:
            layout = self._layout(buffer, call)
            if layout is None:
                note_rejected_layout(
                    self.env, buffer, "a T.Fragment is a layout of fragments, and the buffer is in shared memory"
                )
            else:
                self.requested.of_shared[buffer] = layout

    def _layout(self, buffer: Var, call: TileCall) -> BufferLayout | None:
        if str(call.key) == KernelHint.PADDING:
            shape = [int(constant(size) or 0) for size in buffer.shape]
            return padded(shape, int(constant(call.rest[1]) or 0))
        return (
            memory_layout(call.hints, str(buffer.name))
            if str(call.hints[LayoutAttr.KIND]) == LayoutAttr.MEMORY
            else None
        )

    def _fragment(self, buffer: Var, call: TileCall) -> None:
        layout: FragmentLayout | None = None
        if str(call.hints[LayoutAttr.KIND]) == LayoutAttr.FRAGMENT:
            layout = fragment_layout(call.hints, self.threads)
        if layout is None:
            note_rejected_layout(
                self.env, buffer, f"the layout does not partition its axes over {self.threads} threads"
            )
        else:
            self.requested.of_fragments[buffer] = layout


READ_LAYOUTS = Pass("read_layouts", read_layouts, leaves=(RequestedLayouts,))
