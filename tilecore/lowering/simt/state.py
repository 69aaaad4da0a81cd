"""State between the passes of the SIMT family (the mechanism: tilecore/contract/state.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tilecore.contract.passes import PassEnv
from tilecore.contract.state import PassState
from tilecore.ir.attributes import CallAttr
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import For, PrimFunc, Var
from tilecore.ir.tile_ops import TileCall
from tilecore.ir.written_layouts import slotted


@dataclass
class ThreadCount(PassState, by="note_ranges", former={"threads": "count"}):
    """The threads of a block of every kernel; None where kernels of the function have different numbers.

    Published by note_ranges. Implementations read it by ``threads_of_call``.
    """

    count: int | None


@dataclass
class RequestedLayouts(
    PassState, by="read_layouts", former={"asked_layouts": "of_shared", "asked_fragments": "of_fragments"}
):
    """The layouts that a kernel asks for (T.annotate_layout, T.annotate_padding).

    Published by read_layouts. Passes that replace a buffer by slots of it, such as pipeline_loops, give the slots its
    layout. Read by choose_tile_ops and infer_layouts, which grant the layouts that operations allow.
    """

    of_shared: dict[Var, BufferLayout] = field(default_factory=dict)
    of_fragments: dict[Var, FragmentLayout] = field(default_factory=dict)

    def transfer(self, old: Var, new: Var, slots: int) -> None:
        """Gives buffer ``new``, ``slots`` slots of ``old``, the layout that the kernel annotates for ``old``."""
        if old in self.of_shared:
            self.of_shared[new] = slotted(self.of_shared.pop(old), slots)


class Partial(NamedTuple):
    """sources: the source and the axis of each reduction into a sum. sums: the sum, and the fragments added to it."""

    sources: tuple[tuple[Var, int], ...]
    sums: frozenset[Var]


@dataclass
class PartialSums(PassState, by="sink_reductions", former={"partial_sums": "by_sum"}):
    """The sums over a loop of which each thread may hold a partial one until the loop ends.

    Published by sink_reductions. Read where bind_threads lowers reduce and reduce_partials.
    """

    by_sum: dict[Var, Partial] = field(default_factory=dict)


@dataclass
class TileFunction(
    PassState,
    by="choose_tile_ops",
    former={"before_choice": "function", "assumed_divisors": "divisors", "reducers": "reducers"},
):
    """The function in tile IR, before any tile operation is lowered, and facts of its variables.

    Published by choose_tile_ops. infer_layouts replaces the function by one with some fragments in shared memory. Read
    by implementations, and by later passes for hints that lowering removes. divisors: numbers that divide sizes of a
    call (T.assume). reducers: the kind of each T.alloc_reducer.
    """

    function: PrimFunc
    divisors: Mapping[Var, int] = field(default_factory=dict)
    reducers: dict[Var, str] = field(default_factory=dict)


@dataclass
class Inferred:
    """The inferred layouts of one kernel.

    fragments: the layouts of fragments. partitions: of nests, by their outermost loop. demoted: fragments that have to
    be moved to shared memory, each with the reason. copied: for nests the fragments that they have to read from a copy
    in shared memory, each with the reason. The last two are empty at the end of the inference.
    """

    fragments: dict[Var, FragmentLayout] = field(default_factory=dict)
    partitions: dict[For, FragmentLayout | None] = field(default_factory=dict)
    demoted: dict[Var, str] = field(default_factory=dict)
    copied: dict[For, dict[Var, str]] = field(default_factory=dict)


@dataclass
class InferredLayouts(PassState, by="infer_layouts", former={"inferred": "by_kernel"}):
    """The layouts of fragments and the partitions of nests, of each kernel in order.

    Published by infer_layouts. Read by bind_threads, and by ``JITKernel.layouts``.
    """

    by_kernel: list[Inferred] = field(default_factory=list)


@dataclass
class SourceTexts(PassState, collected=True):
    """The user's source text for before the kernels (T.import_source), once each, in the order of first use.

    Added to by the implementation of ``annotate``; describe_hints writes it into the kernels' attributes.
    """

    texts: dict[str, None] = field(default_factory=dict)


@dataclass
class UniformBuffers(PassState, collected=True, former={"uniform": "buffers"}):
    """Private buffers whose values are the same in all threads of a block, which the uniformity analysis cannot see.

    Added to by lower_allreduce, for its results. Read by plan_shared and insert_barriers.
    """

    buffers: set[Var] = field(default_factory=set)


@dataclass
class SharedPlan(PassState, by="plan_shared", former={"shared_offsets": "places"}):
    """Where shared buffers are: (offset, size) in the block's arena, in bytes.

    Published by plan_shared. Read by insert_barriers, describe_kernels, and by ``JITKernel.layouts``.
    """

    places: dict[Var, tuple[int, int]] = field(default_factory=dict)


@dataclass
class AliasedParameters(PassState, by="insert_barriers", former={"may_alias": "names"}):
    """The names of parameters that may alias others, if a barrier between accesses depends on it.

    Published by insert_barriers; describe_kernels reads it.
    """

    names: set[str] = field(default_factory=set)


def threads_of_call(call: TileCall, env: PassEnv) -> int | None:
    """The number of threads that execute a tile operation together; None where it is not known."""
    hint = call.hints.get(CallAttr.THREADS)
    return int(hint) if hint is not None else env.state(ThreadCount).count
