"""Layout inference: chooses a layout for every fragment, and a partition over threads for every parallel nest.

1. Fragments get the layouts that operations require, such as the accumulator of a matrix instruction.
2. Layouts are propagated to a fixed point: a nest is partitioned as a fragment that it runs over, the other fragments
   in the nest follow its partition, and the result of a reduction follows its source.
3. If a nest remains without partition, the largest one (the first of equal ones) gets the partition that accesses
   memory contiguously, and step 2 is repeated.
4. A fragment with conflicting requirements, or with indices that no layout supports, is demoted to shared memory, and
   the inference starts again.
"""

from __future__ import annotations

from math import prod

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.errors import UnsupportedError
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import dtype_of
from tilecore.ir.fragment_text import facts
from tilecore.ir.fragments import FragmentLayout, spread
from tilecore.ir.nodes import DeclBuffer, PrimFunc, Stmt, Var, tirx
from tilecore.ir.replace_buffers import with_buffers
from tilecore.ir.scopes import is_fragment, is_private
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect, variables
from tilecore.ir.written_layouts import fragment_layout
from tilecore.lowering.analysis.kernels import Threads, each_kernel, uses_threads
from tilecore.lowering.simt.analysis.implied_layouts import following, reordered
from tilecore.lowering.simt.analysis.kernel_parts import KernelPart, kernel_parts
from tilecore.lowering.simt.analysis.parallel_nests import Nest, is_for_one
from tilecore.lowering.simt.analysis.partition import partition_of
from tilecore.lowering.simt.choose_tile_ops import choose
from tilecore.lowering.simt.state import Inferred, InferredLayouts, RequestedLayouts, TileFunction
from tilecore.lowering.simt.tile_ops.reducers import everywhere, is_fill
from tilecore.lowering.tile_ops.choice import note_rejected_layout


def infer_layouts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    requested, tile = env.state(RequestedLayouts).of_fragments, env.state(TileFunction)
    demoted: dict[str, str] = {}
    while True:
        inferred_kernels: list[Inferred] = []

        def infer(body: Stmt, threads: Threads, inferred_kernels: list[Inferred] = inferred_kernels) -> Stmt:
            inferred_kernels.append(_inferred(body, threads, env))
            return body

        each_kernel(func.body, infer)
        moved = {buffer: reason for inferred in inferred_kernels for buffer, reason in inferred.demoted.items()}
        if not moved:
            break
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
    return func


def _inferred(body: Stmt, threads: Threads, env: PassEnv) -> Inferred:
    """The layouts of one kernel: of the code of the whole block, and of the code of each range of its threads."""
    kernel, per_thread = Inferred(), uses_threads(body, threads)
    for part in kernel_parts(body, threads.count, env):
        inferred = _Inference(part, per_thread, env).run()
        kernel.fragments |= inferred.fragments
        kernel.partitions |= inferred.partitions
        kernel.demoted |= inferred.demoted
    return kernel


def in_shared_memory(func: PrimFunc, buffers: set[Var]) -> PrimFunc:
    """The function with these fragments, and the views of them, in shared memory."""
    moved: dict[Var, Var] = {}

    def shared_buffer(old: Var) -> Var:
        if old not in moved:
            shape, name = list(old.shape), str(old.name)
            moved[old] = tirx.decl_buffer(shape, dtype_of(old), name, scope="shared", layout=None)
        return moved[old]

    for node in collect(func.body, DeclBuffer):
        if node.data.args[0] in buffers:
            buffers = buffers | {node.buffer}
    return func.with_body(with_buffers(func.body, {old: shared_buffer(old) for old in buffers}))


def _elements(nest: Nest) -> int:
    """The number of iterations of a nest; 0 if it is known at run time only."""
    return prod(int(e or 0) for e in nest.extents)


class _Inference:
    def __init__(self, part: KernelPart, per_thread: bool, env: PassEnv) -> None:
        self.env, self.threads, self.per_thread = env, part.threads.count, per_thread
        self.nests, self.calls, self.loose, self.buffers = part.nests, part.calls, part.loose, part.buffers
        self.viewed = part.viewed
        tile = env.state(TileFunction)
        self.reducers, self.assumed = tile.reducers, tile.divisors
        self.requested = env.state(RequestedLayouts).of_fragments
        self.state = Inferred()
        self.fixed: set[Var] = set()  # fragments whose layout an operation requires

    # -- the search -------------------------------------------------------------------------------------------

    def run(self) -> Inferred:
        outside = self.loose - set(self.reducers)
        demoted = dict.fromkeys(outside, "used outside of T.Parallel and tile operations")
        demoted |= dict.fromkeys(self.viewed, "it is viewed with another shape or element type")
        while True:
            self.state = Inferred(demoted=dict(demoted))
            self._assign_required()
            while True:
                self._propagate()
                unassigned = [n for n in self.nests if n.node not in self.state.partitions]
                if not unassigned:
                    break
                nest = next(
                    (n for n in unassigned if self._annotated_partition(n) is not None), max(unassigned, key=_elements)
                )
                self.state.partitions[nest.node] = self._default_partition(nest)
            self._assign_unconstrained()
            conflict = self._conflict()
            if conflict is None:
                return self.state
            buffer, reason = conflict
            if buffer in demoted:
                raise self._without_layout(buffer, reason)
            demoted[buffer] = reason

    def _without_layout(self, buffer: Var, reason: str) -> UnsupportedError:
        users = [call.span for call, _ in self.calls if buffer in [region.source for region in call.regions]]
        users += [nest.node.span for nest in self.nests if buffer in variables(nest.node)]
        return UnsupportedError(
            f"no layout was found for {buffer.name}: {reason}",
            location=next((place for span in users if (place := location_of_span(span)) is not None), None),
            found=f"shape {[str(size) for size in buffer.shape]}, scope {buffer.scope()}",
            expected="operations that agree on which thread holds which element",
            hint="copy it to a second buffer for one of them, or keep it in shared memory with T.alloc_shared",
        )

    def _is_open(self, buffer: Var) -> bool:
        return is_fragment(buffer) and buffer not in self.state.fragments and buffer not in self.state.demoted

    def _assign_required(self) -> None:
        """Assigns the layouts that operations require, and those that the kernel annotates."""
        for buffer in self.buffers:
            if buffer in self.reducers:
                self.state.fragments[buffer] = everywhere([int(s) for s in buffer.shape], self.threads)
        for call, impl in self.calls:
            for buffer, required in impl.fragments(call, self.env, self.threads).items():
                if not is_fragment(buffer):
                    continue
                if isinstance(required, str):
                    self.state.demoted.setdefault(buffer, f"{impl.name} reads it from shared memory")
                elif buffer not in self.state.demoted:  # otherwise another implementation is chosen for shared memory
                    self.state.fragments.setdefault(buffer, required)
                    self.fixed.add(buffer)
        for buffer, layout in self.requested.items():
            if buffer in self.buffers and self._is_open(buffer):
                self.state.fragments[buffer] = layout

    def _propagate(self) -> None:
        """Propagates layouts through nests and operations, until nothing changes."""
        changed = True
        while changed:
            changes = [
                self._propagate_nest(nest) for nest in self.nests
            ]  # all nests, even if the first one has changed
            changed = any(changes)
            for call, impl in self.calls:
                for buffer, layout in impl.relate(call, self.state.fragments).items():
                    if self._is_open(buffer):
                        self.state.fragments[buffer] = layout
                        changed = True

    def _propagate_nest(self, nest: Nest) -> bool:
        changed = False
        if nest.node not in self.state.partitions:
            layout = self._partition_from_fragment(nest)
            if layout is None:
                return False
            self.state.partitions[nest.node] = layout
            changed = True
        partition = self.state.partitions[nest.node]
        for access in nest.fragments():
            if self._is_open(access.buffer) and partition is not None:
                layout = following(nest, access, partition)
                if layout is not None:
                    self.state.fragments[access.buffer] = layout
                    changed = True
        return changed

    def _partition_from_fragment(self, nest: Nest) -> FragmentLayout | None:
        """The partition by the first fragment with a layout that the nest runs over; written fragments come first."""
        if not nest.is_constant or self._is_private_work(nest):
            return None
        ordered = sorted(nest.fragments(), key=lambda a: (a.buffer in self.reducers, not a.writes))
        for access in ordered:
            layout = self.state.fragments.get(access.buffer)
            matched = nest.matched(access)
            if layout is None or matched is None:
                continue
            if access.buffer in self.reducers and not is_fill(nest.body, self.reducers):
                continue
            named = [axis for axis in matched if axis is not None]
            if any(nest.extents[axis] != 1 for axis in range(len(nest.axes)) if axis not in named):
                continue
            if any(layout.shape[k] != nest.extents[a] for k, a in enumerate(matched) if a is not None):
                continue
            order = [matched.index(axis) if axis in matched else None for axis in range(len(nest.axes))]
            return reordered(layout, order)
        return None

    def _is_private_work(self, nest: Nest) -> bool:
        """Does every thread execute the whole nest?

        That is so if it writes only private memory, or, in a kernel that uses thread indices, if it lowers an operation
        on private memory.
        """
        written = [a.buffer for a in nest.accesses if a.writes]
        writes_only_private = bool(written) and all(is_private(b) for b in written)
        return writes_only_private or (nest.is_private and self.per_thread)

    def _default_partition(self, nest: Nest) -> FragmentLayout | None:
        if not nest.is_constant:
            return None  # partitioned at run time
        if self._is_private_work(nest):
            return everywhere([int(e) for e in nest.extents if e is not None], self.threads)
        return self._annotated_partition(nest) or partition_of(
            nest, self.threads, self.env.capabilities.warp, self.assumed
        )

    def _annotated_partition(self, nest: Nest) -> FragmentLayout | None:
        """The partition that ``loop_layout=`` annotates; None if there is none, or if it does not fit the nest."""
        hint = nest.node.annotations.get(LoopAttr.LOOP_LAYOUT)
        if hint is None or not nest.is_constant or str(hint["kind"]) != "fragment":
            return None
        layout = fragment_layout(hint, self.threads)
        return layout if layout is not None and list(layout.shape) == nest.extents else None

    def _assign_unconstrained(self) -> None:
        """Assigns a layout to the fragments that only operations access, and that no operation constrains."""
        for buffer in self.buffers:
            if self._is_open(buffer):
                shape = [int(s) for s in buffer.shape]
                self.state.fragments[buffer] = spread(shape, self.threads)
                self._propagate()

    # -- conflicts ----------------------------------------------------------------------------------------------

    def _conflict(self) -> tuple[Var, str] | None:
        for nest in self.nests:
            partition = self.state.partitions[nest.node]
            for access in nest.fragments():
                layout = self.state.fragments.get(access.buffer)
                if layout is None or access.buffer in self.reducers:
                    continue
                if partition is None:
                    return access.buffer, "a loop whose size is known at run time only runs over it"
                implied = following(nest, access, partition)
                if implied is None:
                    return access.buffer, "its indices are not the loop variables, each once"
                if access.writes and partition.free and is_for_one(nest):
                    return (
                        access.buffer,
                        "a loop that changes what it reads stores to it, and only one thread executes each iteration",
                    )
                if not layout.has_in_place(implied) or (access.writes and not implied.covers(layout)):
                    return self._less_used(nest, access.buffer), "two loops require different layouts of it"
        for call, impl in self.calls:
            for buffer, required in impl.fragments(call, self.env, self.threads).items():
                layout = self.state.fragments.get(buffer)
                if isinstance(required, FragmentLayout) and layout is not None and layout != required:
                    return buffer, f"two operations require different layouts of it, one of them {impl.name}"
            for buffer, required in impl.relate(call, self.state.fragments).items():
                layout = self.state.fragments.get(buffer)
                if layout is not None and not (layout.covers(required) and required.covers(layout)):
                    return buffer, f"{impl.name} gives it another layout than its other uses require"
        return None

    def _less_used(self, nest: Nest, buffer: Var) -> Var:
        """Of two fragments whose layouts operations require, the one with fewer uses.

        For a product whose result is rounded to an operand of the next product, that is the operand.
        """
        if buffer not in self.fixed:
            return buffer
        others = [a.buffer for a in nest.fragments() if a.buffer in self.fixed and a.buffer in self.state.fragments]
        return min([buffer, *others], key=self._uses)

    def _uses(self, buffer: Var) -> int:
        nests = sum(buffer in {access.buffer for access in nest.fragments()} for nest in self.nests)
        return nests + sum(buffer in {region.source for region in call.regions} for call, _ in self.calls)


INFER_LAYOUTS = Pass(
    "infer_layouts",
    infer_layouts,
    needs=(RequestedLayouts, TileFunction, BufferLayouts),
    leaves=(InferredLayouts,),
    runs_implementations=True,
)
