"""Layout inference: chooses a layout for every fragment, and a partition over threads for every parallel nest.

1. Fragments get the layouts that operations require, such as the accumulator of a matrix instruction.
2. Layouts are propagated to a fixed point: a nest is partitioned as a fragment that it runs over, the other fragments
   in the nest follow its partition, and the result of a reduction follows its source.
3. If a nest remains without partition, the largest one gets the partition that accesses memory contiguously, and step 2
   is repeated. Of equal ones it is the first that accesses global memory, or the first.
4. A fragment with conflicting requirements, or with indices that no layout supports, is demoted to shared memory, and
   the inference starts again. Where one nest that runs less often reads it so, it gets a copy in shared memory instead.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.ir.build import const, dtype_of, load, nest, seq, store
from tilecore.ir.fragment_text import facts
from tilecore.ir.nodes import AllocBuffer, DeclBuffer, For, ForKind, PrimFunc, Stmt, Var, structural_map, tirx
from tilecore.ir.replace_buffers import with_buffers
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel, uses_threads
from tilecore.lowering.simt.analysis.kernel_parts import kernel_parts
from tilecore.lowering.simt.choose_tile_ops import choose
from tilecore.lowering.simt.layout_search import LayoutSearch
from tilecore.lowering.simt.state import Inferred, InferredLayouts, RequestedLayouts, TileFunction
from tilecore.lowering.tile_ops.choice import note_rejected_layout


def infer_layouts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    requested, tile = env.state(RequestedLayouts).of_fragments, env.state(TileFunction)
    demoted: dict[str, str] = {}
    copies: dict[tuple[str, Any], str] = {}  # reasons by the name of the fragment and the place of the nest
    while True:
        inferred_kernels: list[Inferred] = []

        def infer(body: Stmt, threads: Threads, inferred_kernels: list[Inferred] = inferred_kernels) -> Stmt:
            inferred_kernels.append(_inferred(body, threads, env))
            return body

        each_kernel(func.body, infer)
        moved = {buffer: reason for inferred in inferred_kernels for buffer, reason in inferred.demoted.items()}
        copied = {nest: reasons for inferred in inferred_kernels for nest, reasons in inferred.copied.items()}
        if not moved and not copied:
            break
        pairs = [(buffer, nest, reason) for nest, reasons in copied.items() for buffer, reason in reasons.items()]
        # no loop can read the fragment where the loop that makes the copy would need a copy itself
        moved |= {b: reason for b, nest, reason in pairs if (str(b.name), location_of_span(nest.span)) in copies}
        if not moved:
            copies |= {(str(b.name), location_of_span(nest.span)): reason for b, nest, reason in pairs}
            func = with_copies(func, copied)
            continue
        # other implementations may apply to operands in shared memory
        demoted |= {str(buffer.name): reason for buffer, reason in moved.items()}
        env.report.pop("tile_ops", None)
        func = choose(in_shared_memory(tile.function, set(moved)), env)
    env.publish(InferredLayouts(inferred_kernels))
    for inferred in inferred_kernels:
        for buffer, layout in inferred.fragments.items():
            env.note("layouts", {"buffer": str(buffer.name), "layout": str(layout), **facts(layout)})
            if requested.get(buffer, layout) != layout:
                note_rejected_layout(env, buffer, "an operation requires another layout")
    for name, reason in demoted.items():
        env.note("layouts", {"buffer": name, "layout": f"shared memory: {reason}"})
    for (name, place), reason in copies.items():
        where = "a loop" if place is None else f"the loop at {place}"
        env.note("notes", {"text": f"{name} is copied to shared memory for {where}: {reason}"})
    return func


def _inferred(body: Stmt, threads: Threads, env: PassEnv) -> Inferred:
    """The layouts of one kernel: of the code of the whole block, and of the code of each range of its threads."""
    kernel, per_thread = Inferred(), uses_threads(body, threads)
    for part in kernel_parts(body, threads.count, env):
        inferred = LayoutSearch(part, per_thread, env).run()
        kernel.fragments |= inferred.fragments
        kernel.partitions |= inferred.partitions
        kernel.demoted |= inferred.demoted
        kernel.copied |= inferred.copied
    return kernel


def in_shared_memory(func: PrimFunc, buffers: set[Var]) -> PrimFunc:
    """The function with these fragments, and the views of them, in shared memory."""
    moved: dict[Var, Var] = {}

    def shared_buffer(old: Var) -> Var:
        if old not in moved:
            moved[old] = _shared_like(old)
        return moved[old]

    for node in collect(func.body, DeclBuffer):
        if node.data.args[0] in buffers:
            buffers = buffers | {node.buffer}
    return func.with_body(with_buffers(func.body, {old: shared_buffer(old) for old in buffers}))


def with_copies(func: PrimFunc, copied: dict[For, dict[Var, str]]) -> PrimFunc:
    """The function in which each of these nests reads copies of these fragments, made in shared memory before it."""

    def change(node: For) -> Stmt:
        if node not in copied:
            return node
        copies = {old: _shared_like(old) for old in copied[node]}
        statements: list[Stmt] = []
        for old, new in copies.items():
            statements += [AllocBuffer(new), _copy_nest(old, new, node.span)]
        return seq([*statements, with_buffers(node, copies)])

    return func.with_body(structural_map(func.body, (For, change)))


def _shared_like(buffer: Var) -> Var:
    """A new buffer in shared memory of the shape, type and name of a fragment."""
    shape, name = list(buffer.shape), str(buffer.name)
    return tirx.decl_buffer(shape, dtype_of(buffer), name, scope="shared", layout=None)


def _copy_nest(source: Var, target: Var, span: Any) -> Stmt:
    """A parallel nest that copies all elements; one of a single iteration where there is one element."""

    def element(indices: list[Any]) -> Stmt:
        return store(target, load(source, indices, span), indices, span)

    copy = nest(list(source.shape), element, span=span)
    if isinstance(copy, For):
        return copy
    return For(Var("i", "int32"), const(0, "int32"), const(1, "int32"), ForKind.PARALLEL, copy, span=span)


INFER_LAYOUTS = Pass(
    "infer_layouts",
    infer_layouts,
    needs=(RequestedLayouts, TileFunction, BufferLayouts),
    leaves=(InferredLayouts,),
    runs_implementations=True,
)
