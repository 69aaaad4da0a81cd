"""The shared memory of a pipeline: a circular buffer for each tile, with mbarriers "full" and "empty" for each slot.

The producer and the consumers count a pipeline's iterations alike. With S slots, iteration t uses slot t % S in phase
t / S. A wait for the barrier "full" of iteration t ends when the copies of iteration t have landed; a wait for the
barrier "empty" ends when every consumer warp has released iteration t - S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.cluster_multicast import CLUSTER_BLOCKS
from tile_cuda.lowering.hopper.pipelines import Pipeline, TmaLoad
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, load, store
from tilecore.ir.nodes import AllocBuffer, Bind, For, Stmt, Var, tirx
from tilecore.ir.ranges import within
from tilecore.ir.visit import collect

MOST_ITERATIONS = 1 << 30


class Declined(Exception):
    """The kernel cannot be divided between a producer and consumers; the message is the reason."""


class CircularBuffer:
    """A pipeline's memory.

    buffers: for each tile its circular buffer, [slots, ...tile]. full, empty: mbarriers, one for each slot. multicast:
    the loads that a block does for its neighbour too. blocks: how many blocks' warps release a slot.
    """

    def __init__(self, pipeline: Pipeline, multicast: Sequence[TmaLoad] = ()) -> None:
        self.pipeline = pipeline
        self.multicast = [tma_load for tma_load in pipeline.all_loads if tma_load in multicast]
        self.blocks = CLUSTER_BLOCKS if self.multicast else 1
        self.slots = pipeline.slots
        self.buffers: dict[Var, Var] = {}
        for tile in pipeline.tiles:
            shape = [self.slots, *(int(constant(s) or 0) for s in tile.shape)]
            scope = str(tile.scope())
            self.buffers[tile] = tirx.decl_buffer(shape, dtype_of(tile), str(tile.name), scope=scope, layout=None)
        self.full, self.empty = (self._mbarriers(state) for state in ("full", "empty"))

    def _mbarriers(self, state: str) -> Var:
        return tirx.decl_buffer([self.slots], "uint64", f"{self.pipeline.name}_{state}", scope="shared", layout=None)

    def allocations(self) -> list[Stmt]:
        return [AllocBuffer(buffer) for buffer in (*self.buffers.values(), self.full, self.empty)]

    def init_mbarriers(self, warps: int) -> list[Stmt]:
        """Statements for one thread, before all other code. warps: how many warps of a block release a slot."""
        statements = []
        for slot in range(self.slots):
            indices = [const(slot, "int32")]
            releases = const(warps * self.blocks, "int32")
            statements.append(instructions.mbarrier("init", load(self.full, indices), const(1, "int32")))
            statements.append(instructions.mbarrier("init", load(self.empty, indices), releases))
        return statements

    def slot(self, iteration: Any) -> Any:
        """The slot of an iteration."""
        return simplified(tirx.floormod(iteration, const(self.slots, "int32")))

    def parity(self, iteration: Any, flipped: bool = False) -> Any:
        """The parity of an iteration's phase: 0 or 1."""
        phase = tirx.floordiv(iteration, const(self.slots, "int32")) + const(int(flipped), "int32")
        return simplified(tirx.floormod(phase, const(2, "int32")))


class Iterations:
    """The index of each iteration of the pipelines in one role's code.

    It is an expression of a loop variable, or a counter that is allocated in front of the code.
    """

    def __init__(self, circular_buffers: list[CircularBuffer], body: Stmt) -> None:
        self.circular_buffers = circular_buffers
        self.counters = {
            circular_buffer: tirx.decl_buffer(
                [1], "int32", f"{circular_buffer.pipeline.name}_turn", scope="local.var", layout=None
            )
            for circular_buffer in circular_buffers
            if is_refilled(circular_buffer.pipeline, body)
        }
        self.bases: dict[tuple[CircularBuffer, Any], Any] = {}

    def allocations(self) -> list[Stmt]:
        """The counters, with their first value."""
        zero = const(0, "int32")
        statements: list[Stmt] = []
        for counter in self.counters.values():
            statements += [AllocBuffer(counter), store(counter, zero, [zero])]
        return statements

    def around_loop(self, node: For) -> tuple[list[Stmt], list[Stmt]]:
        """Statements before and after a loop in which pipelines are filled."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        for circular_buffer in self.circular_buffers:
            per_step = _iterations_per_step(circular_buffer, node)
            if not per_step:
                continue
            if circular_buffer not in self.counters:
                self.bases[circular_buffer, node] = const(0, "int32")
                continue
            base, bound = self._read_counter(circular_buffer)
            before += bound
            self.bases[circular_buffer, node] = base
            in_loop = node.extent.astype("int32") * const(per_step, "int32")
            after.append(store(self.counters[circular_buffer], simplified(base + in_loop), [const(0, "int32")]))
        return before, after

    def _read_counter(self, circular_buffer: CircularBuffer) -> tuple[Var, list[Stmt]]:
        base = Var(f"{circular_buffer.pipeline.name}_from", "int32")
        value = load(self.counters[circular_buffer], [const(0, "int32")])
        return base, [Bind(base, value), within(base, const(MOST_ITERATIONS, "int32"))]

    def index_of(self, circular_buffer: CircularBuffer, place: int) -> tuple[Any, list[Stmt]]:
        """The iteration that begins at a place (an index of ``pipeline.loads``), and the statements in front of it."""
        loads = circular_buffer.pipeline.loads
        owner = loads[place][0].owner
        if isinstance(owner, For):
            owners = [loads_at_place[0].owner for loads_at_place in loads]
            in_loop = [n for n, other in enumerate(owners) if other is not None and other.same_as(owner)]
            step = simplified((owner.loop_var - owner.min).astype("int32"))
            base = self.bases[circular_buffer, owner]
            return base + step * const(len(in_loop), "int32") + const(in_loop.index(place), "int32"), []
        if circular_buffer not in self.counters:
            return const(0, "int32"), []
        base, bound = self._read_counter(circular_buffer)
        increment = store(self.counters[circular_buffer], base + const(1, "int32"), [const(0, "int32")])
        return base, [*bound, increment]


def is_refilled(pipeline: Pipeline, body: Stmt) -> bool:
    """Whether the pipeline is filled at several places, or at one that runs several times."""
    loads = pipeline.loads
    owners = {tma_load.owner for loads_at_place in loads for tma_load in loads_at_place}
    if len(owners) > 1:
        return True
    owner = next(iter(owners))
    if owner is None:
        return len(loads) > 1
    loops = [loop for loop in collect(body, For) if not loop.same_as(owner)]
    is_nested = any(any(inner.same_as(owner) for inner in collect(loop, For)) for loop in loops)
    return is_nested or not isinstance(owner, For)


def _iterations_per_step(circular_buffer: CircularBuffer, node: For) -> int:
    """How often one step of the loop fills the pipeline itself; loops inside of it count their own iterations."""
    loads = circular_buffer.pipeline.loads
    owners_of_places = [loads_at_place[0].owner for loads_at_place in loads]
    count = sum(1 for owner in owners_of_places if isinstance(owner, For) and owner.same_as(node))
    owners = {owner for owner in owners_of_places if owner is not None}
    if count and any(not owner.same_as(node) and _contains(node, owner) for owner in owners):
        raise Declined(f"{circular_buffer.pipeline.name} is loaded in a loop and also in another loop inside of it")
    return count


def _contains(node: Stmt, inner: Any) -> bool:
    return any(candidate.same_as(inner) for candidate in collect(node, type(inner)))


def simplified(value: Any) -> Any:
    return Analyzer().simplify(value)
