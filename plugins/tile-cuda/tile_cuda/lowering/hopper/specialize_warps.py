"""Warp specialization: a producer warp loads shared tiles by tensor maps, and the other warps use them.

It applies to kernels with a T.Pipelined loop around a T.gemm whose tiles a tensor map can load; ``pipeline_loops``
lowers all others. ``kernel.explain()`` says which, and why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tile_cuda.architectures import WARP
from tile_cuda.attributes import CudaStatementAttr
from tile_cuda.cluster_parts import number_of_parts
from tile_cuda.lowering.hopper.circular_buffers import CircularBuffer, Declined, is_refilled
from tile_cuda.lowering.hopper.cluster_multicast import CLUSTER_BLOCKS, cluster_axis, multicast_loads, reads_limit
from tile_cuda.lowering.hopper.fold_clears import fold_clears
from tile_cuda.lowering.hopper.hold_operands import hold_operands, lack_of_registers
from tile_cuda.lowering.hopper.masks import simplify_masks, skip_masks, split_masked_loops
from tile_cuda.lowering.hopper.overlap_wgmma import overlap_wgmma
from tile_cuda.lowering.hopper.persistent_blocks import Tiles, with_persistent_blocks
from tile_cuda.lowering.hopper.pipelines import Pipeline, find_pipelines
from tile_cuda.lowering.hopper.product_ahead import product_ahead
from tile_cuda.lowering.hopper.ring_depth import add_slots, blocks_by_memory, shared_bytes
from tile_cuda.lowering.hopper.rows_inside import clear_other_rows, load_rows_inside
from tile_cuda.lowering.hopper.split_k import (
    UNLIMITED,
    check_loads,
    check_parts,
    splittable_loop,
    with_split_loop,
)
from tile_cuda.lowering.hopper.tensor_maps import mappable_tensors
from tile_cuda.lowering.hopper.unroll_parts import unroll_parts
from tile_cuda.lowering.hopper.warp_roles import Consumer, Producer, warps_of
from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tile_cuda.lowering.mma_config import allows_tf32
from tile_cuda.lowering.state import WarpSpecialization
from tile_cuda.options import (
    DISABLE_MORE_STAGES,
    DISABLE_PERSISTENT_BLOCKS,
    DISABLE_PRODUCT_OVERLAP,
    DISABLE_TMA_LOWER,
    DISABLE_WARP_SPECIALIZED,
    PRODUCT_AHEAD,
    SPLIT_K,
    key_name,
)
from tile_cuda.target import multiprocessors_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import KernelHint, LoopAttr
from tilecore.ir.build import const, constant, dtype_of, seq
from tilecore.ir.dialect_calls import has_dialect_calls
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Break,
    Continue,
    Evaluate,
    For,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    While,
)
from tilecore.ir.scopes import is_fragment
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.tile_ops import TileCall, as_tile_call, last_hint
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, renewed, variables
from tilecore.lowering.analysis.assumptions import assumed_divisors
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, rebuild_kernel, threads_of, uses_threads
from tilecore.lowering.simt.state import PartialSums, RequestedLayouts, ThreadCount, threads_of_call

OTHER_SHARED = 1 << 10  # bytes of shared memory of a block for mbarriers
REGISTERS = 65536  # of a multiprocessor
MOST_REGISTERS, OTHER_REGISTERS = 168, 40  # of a thread; beside its fragments
_DISABLING_OPTIONS = (DISABLE_WARP_SPECIALIZED, DISABLE_TMA_LOWER)


def specialize_warps(func: PrimFunc, env: PassEnv) -> PrimFunc:
    state = WarpSpecialization(mappable_tensors(func))
    env.publish(state)
    if "wgmma" not in env.capabilities.features:
        return func
    divisors = assumed_divisors(func)

    def change(body: Stmt) -> Stmt:
        if isinstance(body, SeqStmt):
            return SeqStmt([change(part) for part in body.seq], span=body.span)
        if not is_axis(body):
            return body
        kernel = _Kernel(body, divisors, state, env)
        try:
            return kernel.run()
        except Declined as reason:
            env.note("warp_roles", {"declined": str(reason)})
            return rebuild_kernel(kernel.levels, kernel.code)

    return func.with_body(change(func.body))


class _Kernel:
    def __init__(self, kernel: AttrStmt, divisors: Mapping[Var, int], state: WarpSpecialization, env: PassEnv) -> None:
        self.kernel, self.state, self.env, self.block_order = kernel, state, env, ""
        self.resident = 1  # blocks that a multiprocessor holds
        self.is_tight = False  # whether the result's tile must use memory of the loop's tiles
        self.is_one_wave = False  # whether all of the user's blocks run at the same time
        self.is_refilled = False  # whether one of the user's blocks runs its loops again, for more tiles of a result
        self.levels, code = axes_and_code(kernel)
        analyzer = Analyzer()
        for level in self.levels:
            zero = const(0, dtype_of(level.node.var))
            analyzer.bind(level.node.var, Range.from_min_extent(zero, level.value))
        self.analyzer = analyzer
        self.viewed = {buffer for buffer in memory_roots(code) if is_fragment(buffer)}
        self.code = fold_clears(simplify_masks(code, analyzer), env, analyzer, self.viewed)
        self.consumer_code = self.code
        self.divisors = divisors
        self.threads = threads_of(self.levels)

    def run(self) -> Stmt:
        self._check()
        code = unroll_parts(self.code)
        pipelines, refusals = self._find_pipelines(code)
        for name, reason in refusals.items():
            self.env.note("warp_roles", {"tile": name, "declined": f"threads load it: {reason}"})
        if not any(pipeline.is_of_loop for pipeline in pipelines):
            raise Declined("no T.Pipelined loop loads tiles that a tensor map can load")
        if PRODUCT_AHEAD.value_in(self.env.config) is None:  # else the registers are for a second accumulator
            code = hold_operands(code, self.env)
        self.is_refilled = any(pipeline.is_of_loop and is_refilled(pipeline, code) for pipeline in pipelines)
        levels, code, axis = self._make_persistent(code)
        pipelines, _ = self._find_pipelines(code)
        if not self.is_tight and not DISABLE_MORE_STAGES.value_in(self.env.config):
            add_slots(pipelines, code, self.state.tensors, self.resident, self.env)
        multicast = [] if axis is None else multicast_loads(pipelines, code, axis.node.var, self.divisors)
        if axis is None:
            load_rows_inside(pipelines, self.analyzer, self.divisors)
        circular_buffers = [CircularBuffer(pipeline, multicast) for pipeline in pipelines]
        warps = warps_of(self.threads.count)
        producer = renewed(Producer(circular_buffers, code).run())
        self.consumer_code = code
        consumer = Consumer(circular_buffers, code, self.env, self._change_loop).run()
        consumer = seq([*clear_other_rows(circular_buffers), consumer])
        for circular_buffer in circular_buffers:
            for tile, buffer in circular_buffer.buffers.items():
                self.state.circular_buffers[buffer] = circular_buffer
                self.env.state(RequestedLayouts).transfer(tile, buffer, circular_buffer.slots)
            self._note(circular_buffer)
        init = seq([s for circular_buffer in circular_buffers for s in circular_buffer.init_mbarriers(warps)])
        if self.block_order:
            self.env.note("blocks", {"order": self.block_order})
        roles = [_role(name, part) for name, part in (("init", init), ("producer", producer), ("consumer", consumer))]
        lowered: Stmt = AttrStmt(const(0, "int32"), CudaStatementAttr.ROLES, const(WARP, "int32"), seq(roles))
        lowered = seq([*(s for circular_buffer in circular_buffers for s in circular_buffer.allocations()), lowered])
        return rebuild_kernel(levels, lowered)

    def _check(self) -> None:
        for option in _DISABLING_OPTIONS:
            if option.value_in(self.env.config):
                raise Declined(f"{key_name(option)} is set")
        calls = [call for node in collect(self.code, Evaluate) if (call := as_tile_call(node)) is not None]
        products = [call for call in calls if call.op.name == "gemm"]
        if not products:
            raise Declined("it has no T.gemm")
        if not any(self._gains_from_producer(call) for call in products):
            raise Declined("its tf32 matrix products use mma.sync, which does not gain from a producer warp")
        if has_dialect_calls(self.code, "cuda") or has_ranges(self.code):
            raise Declined("it assigns roles to warps itself (T.ws, T.tma_copy and the like)")
        if uses_threads(self.code, self.threads):
            raise Declined("it uses thread indices")
        if self.threads.count % WARP:
            raise Declined(f"{self.threads.count} threads are not a multiple of {WARP}")
        most = self.env.capabilities.max_threads
        if self.threads.count + WARP > most:
            raise Declined(f"{self.threads.count} threads and a producer warp are more than {most} threads")
        if any(constant(level.value) == 0 for level in self.levels):
            raise Declined("its grid has no blocks")
        if len(self.threads.active) > 1:
            raise Declined("its threads have several axes")
        if collect(self.code, Break, Continue, While):
            raise Declined("one of its loops may end early")
        if last_hint(self.kernel, KernelHint.CLUSTER_DIMS) is not None:
            raise Declined("it asks for clusters")

    def _gains_from_producer(self, call: TileCall) -> bool:
        """Whether the matrix product is faster beside a producer warp (docs/notes/hopper.md, "A slot to spare").

        Multiply-adds in float32 are: they issue one instruction a cycle, of which copies by threads would take some.
        """
        if dtype_of(call.a.source) != "float32" or not allows_tf32(call, self.env):
            return True
        return not isinstance(wgmma_config_of(call, self.env, threads_of_call(call, self.env)), str)

    def _find_pipelines(self, code: Stmt) -> tuple[list[Pipeline], dict[str, str]]:
        return find_pipelines(code, self.state.tensors, self.divisors)

    def _make_persistent(self, code: Stmt) -> tuple[list[AttrStmt], Stmt, AttrStmt | None]:
        """The persistent kernel's axes and code, and the axis along which blocks form clusters."""
        pipelines, _ = self._find_pipelines(code)
        needed = shared_bytes(pipelines, code, self.state.tensors, self.env) + OTHER_SHARED
        if needed > self.env.capabilities.shared_bytes:
            self.is_tight = self.state.is_tight = True
            self.block_order = (
                f"as the grid says: persistent blocks would need {needed} bytes of shared memory, as the result's"
                " tile could not use memory of the loop's tiles"
            )
        if self.is_tight or DISABLE_PERSISTENT_BLOCKS.value_in(self.env.config):
            return self.levels, code, None
        multiprocessors = multiprocessors_of(self.env.target)
        total = constant(Tiles(self.levels, self.kernel, code).total)
        if total is None or total > multiprocessors:
            self.resident = self._blocks_per_multiprocessor(code, pipelines)
        blocks = multiprocessors * self.resident
        self.is_one_wave = total is not None and total <= blocks
        cluster_axis = self._choose_cluster_axis(code, pipelines, blocks)
        if self.is_one_wave and cluster_axis is None:
            assert total is not None
            self.block_order = "as the grid says, all at the same time"
            return *self._split_k(code, pipelines, int(total)), None
        tiles = Tiles(self.levels, self.kernel, code, cluster_axis)
        if tiles.is_left_to_device(blocks):
            self.block_order = "as the grid says: its blocks have different work, and add to more memory than is cached"
            return self.levels, code, None
        if cluster_axis is not None:
            blocks -= blocks % CLUSTER_BLOCKS
            if SPLIT_K.value_in(self.env.config) not in (None, 1):
                self.env.note("split_k", {"declined": "its blocks load tiles for their neighbours"})
        elif SPLIT_K.value_in(self.env.config) not in (None, 1):
            self.env.note("split_k", {"declined": "its grid has more blocks than run at the same time"})
        self.block_order = f"as {blocks} persistent blocks, which process the grid's blocks in turn"
        if cluster_axis is not None:
            self.block_order += f", pairs along {cluster_axis.node.var.name} side by side"
        if tiles.uneven is not None:
            self.block_order += f", those with the most work along {tiles.uneven.axis.node.var.name} first"
        return *with_persistent_blocks(self.levels, code, blocks, tiles), cluster_axis

    def _split_k(self, code: Stmt, pipelines: list[Pipeline], total: int) -> tuple[list[AttrStmt], Stmt]:
        """The axes and code with several blocks for each block of the grid, where multiprocessors would be idle."""
        asked, multiprocessors = SPLIT_K.value_in(self.env.config), multiprocessors_of(self.env.target)
        if asked == 1 or (asked is None and number_of_parts(total, multiprocessors, UNLIMITED) == 1):
            return self.levels, code
        try:
            split = splittable_loop(code)
            parts = number_of_parts(total, multiprocessors, split.iterations) if asked is None else int(asked)
            check_parts(parts, split, pipelines, self.threads.count)
            levels, split_code = with_split_loop(self.levels, split, parts, self.threads.count, self.env)
            split_pipelines, _ = self._find_pipelines(split_code)
            check_loads(split_pipelines)
        except Declined as reason:
            self.env.note("split_k", {"declined": str(reason)})
            return self.levels, code
        if total * parts > multiprocessors:
            self.resident = self._blocks_per_multiprocessor(split_code, split_pipelines)
            self.is_one_wave = total * parts <= multiprocessors * self.resident
        self.block_order = f"in clusters of {parts}, which share the iterations of each block of the grid"
        if self.is_one_wave:
            self.block_order += ", all at the same time"
        return levels, split_code

    def _choose_cluster_axis(self, code: Stmt, pipelines: list[Pipeline], blocks: int) -> AttrStmt | None:
        multiprocessors, count = multiprocessors_of(self.env.target), self.threads.count
        is_limited = self.is_one_wave and reads_limit(self.levels, code, pipelines, count, multiprocessors, self.env)
        axis = cluster_axis(self.levels, code, pipelines, self.divisors, self.env, is_limited)
        if not isinstance(axis, str) and blocks < CLUSTER_BLOCKS:
            axis = f"the kernel is compiled for {blocks} multiprocessor"
        if isinstance(axis, str):
            self.env.note("block_pairs", {"declined": axis})
            return None
        return axis

    def _blocks_per_multiprocessor(self, code: Stmt, pipelines: list[Pipeline]) -> int:
        """How many blocks a multiprocessor holds, by their shared memory and their registers."""
        by_memory = blocks_by_memory(pipelines, code, self.state.tensors, self.env)
        fragments = [a.buffer for a in collect(code, AllocBuffer) if is_fragment(a.buffer)]
        words = sum(prod(int(constant(s) or 0) for s in b.shape) * DType(dtype_of(b)).bits // 32 for b in fragments)
        registers = min(MOST_REGISTERS, words // self.threads.count + OTHER_REGISTERS)
        by_threads = REGISTERS // ((self.threads.count + WARP) * registers)
        return max(1, min(by_memory, by_threads))

    def _change_loop(self, node: For) -> Stmt:
        """A loop that uses pipelines: with products that overlap, and split where masks begin to matter."""
        if LoopAttr.USER_BLOCKS in node.annotations:
            return node
        overlapped: Stmt = node
        viewed = sorted(str(buffer.name) for buffer in self.viewed & variables(node))
        if viewed:
            self.env.note("overlaps", {"loop": str(node.loop_var.name), "declined": f"{viewed[0]} is or has a view"})
        elif not DISABLE_PRODUCT_OVERLAP.value_in(self.env.config):
            overlapped = self._overlap(node)
        split = split_masked_loops(simplify_masks(overlapped, self.analyzer), self.analyzer, self.env)
        folded = fold_clears(split, self.env, self.analyzer, self.viewed)
        return skip_masks(folded, self.analyzer, self.env, self.viewed)

    def _overlap(self, node: For) -> Stmt:
        """The loop with products that run beside work on the results of others."""
        if PRODUCT_AHEAD.value_in(self.env.config) is not None:
            ahead = product_ahead(node, self.env, self.consumer_code, self.threads.count)
            name = str(node.loop_var.name)
            if not isinstance(ahead, str):
                self.env.note("overlaps", {"loop": name, "products": 2, "ahead": "yes"})
                return ahead
            self.env.note("notes", {"text": f"loop {name}: no product of the next iteration ahead: {ahead}"})
        lack = lack_of_registers(self.code, self.threads.count)
        waits = self.is_one_wave and not self.is_refilled  # for memory: its blocks begin and end at the same time
        is_early = waits and DISABLE_PRODUCT_OVERLAP.value_in(self.env.config) is None
        return overlap_wgmma(node, self.env, lack, _ONE_WAVE if is_early else None)

    def _note(self, circular_buffer: CircularBuffer) -> None:
        names = ", ".join(str(tile.name) for tile in circular_buffer.pipeline.tiles)
        loaded_by = "by a producer warp"
        if circular_buffer.multicast:
            multicast = ", ".join(dict.fromkeys(str(tma_load.tile.name) for tma_load in circular_buffer.multicast))
            loaded_by += f", {multicast} for both blocks of a cluster"
        if circular_buffer.pipeline.more and circular_buffer.pipeline.is_of_loop:
            loaded_by += f", {circular_buffer.pipeline.more} more than the loop asks for, as shared memory has room"
        elif circular_buffer.pipeline.more:
            loaded_by += ", one of them for the next of the grid's blocks, as shared memory has room"
        self.env.note("pipelines", {"tiles": names, "stages": circular_buffer.slots, "filled": loaded_by})


_ONE_WAVE = "all blocks run at once and wait for memory, so slots are released as early as possible"


def _role(name: str, body: Stmt) -> Stmt:
    return AttrStmt(const(0, "int32"), CudaStatementAttr.ROLE, StringImm(name), body)


SPECIALIZE_WARPS = Pass(
    "specialize_warps",
    specialize_warps,
    needs=(ThreadCount, RequestedLayouts, PartialSums),
    leaves=(WarpSpecialization,),
)
