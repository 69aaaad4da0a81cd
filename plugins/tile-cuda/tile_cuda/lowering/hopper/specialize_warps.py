"""Gives warps of a block roles: one warp fills rings of shared tiles by tensor maps, the others use them.

It takes kernels with a T.Pipelined loop around a product whose tiles can be filled so; all others go the way of
``pipeline_loops``. ``kernel.explain()`` says which, and why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tile_cuda.architectures import WARP
from tile_cuda.lowering.hopper.cluster_multicast import BLOCKS as CLUSTER_BLOCKS
from tile_cuda.lowering.hopper.cluster_multicast import cluster_axis, multicast_loads
from tile_cuda.lowering.hopper.fold_clears import fold_clears
from tile_cuda.lowering.hopper.overlap_wgmma import overlapped
from tile_cuda.lowering.hopper.persistent_blocks import with_persistent_blocks
from tile_cuda.lowering.hopper.pipelines import Pipeline, find_pipelines
from tile_cuda.lowering.hopper.unroll_parts import unroll_parts
from tile_cuda.lowering.hopper.warp_roles import CircularBuffer, Consumer, Declined, Producer, warps_of
from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tile_cuda.target import multiprocessors_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
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
    is_buffer_var,
)
from tilecore.ir.scopes import is_fragment, is_global
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.tile_ops import TileCall, as_tile_call, last_hint
from tilecore.ir.visit import collect, renewed
from tilecore.lowering.analysis.assumptions import assumed_divisors
from tilecore.lowering.analysis.kernels import asks_for_threads, axes_and_code, is_axis, on_axes, threads_in, threads_of
from tilecore.lowering.simt.insert_barriers import BLOCKS
from tilecore.lowering.simt.note_ranges import threads_of_call
from tilecore.lowering.simt.read_layouts import follow
from tilecore.transform import PassConfigKey

ROLES = "cuda.roles"  # attribute: of a kernel's code; its value is the number of further threads
ROLE = "cuda.role"  # attribute: one role's part of it: "init", "producer", "consumer"
PIPELINES = "channels"  # the fact: {a tile's ring: the Ring}
OTHER_BYTES = 10 << 10  # of shared memory of a block, beside its rings
REGISTERS = 65536  # of a multiprocessor
MOST_REGISTERS, OTHERS = 168, 40  # of a thread; beside its fragments
TENSORS = "tensors"  # the fact: buffers that a launch can make tensor maps of
_OFF = (PassConfigKey.TL_DISABLE_WARP_SPECIALIZED, PassConfigKey.TL_DISABLE_TMA_LOWER)


def specialize_warps(func: PrimFunc, env: PassEnv) -> PrimFunc:
    env.facts[PIPELINES] = {}
    env.facts[TENSORS] = {param for param in func.params if is_buffer_var(param)}
    env.facts[TENSORS] |= {a.buffer for a in collect(func.body, AllocBuffer) if is_global(a.buffer)}
    if "wgmma" not in env.capabilities.features:
        return func
    env.facts["threads"] = threads_in(func.body)
    divisors = assumed_divisors(func)

    def change(body: Stmt) -> Stmt:
        if isinstance(body, SeqStmt):
            return SeqStmt([change(part) for part in body.seq], span=body.span)
        if not is_axis(body):
            return body
        kernel = _Kernel(body, divisors, env)
        try:
            return kernel.run()
        except Declined as reason:
            env.note("warp_roles", {"declined": str(reason)})
            return on_axes(kernel.levels, kernel.code)

    return func.with_body(change(func.body))


class _Kernel:
    def __init__(self, kernel: AttrStmt, divisors: Mapping[Var, int], env: PassEnv) -> None:
        self.kernel, self.env, self.order = kernel, env, ""
        self.levels, code = axes_and_code(kernel)
        analyzer = Analyzer()
        for level in self.levels:
            zero = const(0, dtype_of(level.node.var))
            analyzer.bind(level.node.var, Range.from_min_extent(zero, level.value))
        self.code = fold_clears(code, env, analyzer)
        self.divisors = divisors
        self.threads = threads_of(self.levels)

    def run(self) -> Stmt:
        self._check()
        levels, code, axis = self._persisted(unroll_parts(self.code))
        channels, refused = self._channels(code)
        for name, reason in refused.items():
            self.env.note("warp_roles", {"tile": name, "declined": f"threads fill it: {reason}"})
        if not any(channel.slots > 1 for channel in channels):
            raise Declined("no T.Pipelined loop fills tiles that a tensor map can fill")
        shared = [] if axis is None else multicast_loads(channels, code, axis.node.var, self.divisors)
        rings = [CircularBuffer(channel, shared) for channel in channels]
        filling = renewed(Producer(rings, code).run())
        using = Consumer(rings, code, self.env, lambda node: self._loop(node)).run()
        for ring in rings:
            for tile, slots in ring.slots.items():
                self.env.facts[PIPELINES][slots] = ring
                follow(self.env, tile, slots, ring.count)
            self._note(ring)
        init = seq([s for ring in rings for s in ring.init(warps_of(self.threads.count))])
        if self.order:
            self.env.note("blocks", {"order": self.order})
        roles = [_role(name, part) for name, part in (("init", init), ("producer", filling), ("consumer", using))]
        made: Stmt = AttrStmt(const(0, "int32"), ROLES, const(WARP, "int32"), seq(roles))
        made = seq([*(s for ring in rings for s in ring.allocations()), made])
        return on_axes(levels, made)

    def _check(self) -> None:
        for key in _OFF:
            if self.env.config.get(str(key)):
                raise Declined(f"{key.name} is set")
        calls = [call for node in collect(self.code, Evaluate) if (call := as_tile_call(node)) is not None]
        products = [call for call in calls if call.op.name == "gemm"]
        if not products:
            raise Declined("it multiplies no tiles")
        if not any(self._gains(call) for call in products):
            raise Declined("its products are of tf32, by single warps")
        if has_dialect_calls(self.code, "cuda") or has_ranges(self.code):
            raise Declined("it says itself who copies and who waits")
        if asks_for_threads(self.code, self.threads):
            raise Declined("its code asks for threads")
        if self.threads.count % WARP or self.threads.count + WARP > self.env.capabilities.max_threads:
            raise Declined(f"{self.threads.count} threads")
        if any(constant(level.value) == 0 for level in self.levels):
            raise Declined("its grid has no blocks")
        if len(self.threads.active) > 1:
            raise Declined("its threads stand along several axes")
        if collect(self.code, Break, Continue, While):
            raise Declined("its loops end early")
        if last_hint(self.kernel, "cluster_dims") is not None:
            raise Declined("it asks for clusters")

    def _gains(self, call: TileCall) -> bool:
        """Whether its product is faster beside a warp that loads (docs/notes/hopper.md, "A slot to spare")."""
        if dtype_of(call.a.source) != "float32":
            return True
        return not isinstance(wgmma_config_of(call, self.env, threads_of_call(call, self.env)), str)

    def _channels(self, code: Stmt) -> tuple[list[Pipeline], dict[str, str]]:
        return find_pipelines(code, self.env.facts[TENSORS], self.divisors)

    def _persisted(self, code: Stmt) -> tuple[list[AttrStmt], Stmt, AttrStmt | None]:
        """The axes and the code that go through the grid's blocks, and the axis along which blocks make pairs."""
        if self.env.config.get(str(PassConfigKey.TL_DISABLE_PERSISTENT_BLOCKS)):
            return self.levels, code, None
        channels, _ = self._channels(code)
        blocks = multiprocessors_of(self.env.target) * self._blocks_at_once(code, channels)
        axis = self._paired(code, channels, blocks)
        self.order = f"{blocks} blocks that take the grid's in turn"
        if axis is not None:
            blocks -= blocks % CLUSTER_BLOCKS
            self.order = f"{blocks} blocks that take the grid's in turn, pairs along {axis.node.var.name} side by side"
        return *with_persistent_blocks(self.levels, code, blocks, self.kernel, axis), axis

    def _paired(self, code: Stmt, channels: list[Pipeline], blocks: int) -> AttrStmt | None:
        found = cluster_axis(self.levels, code, channels, self.divisors, self.env)
        if not isinstance(found, str) and blocks < CLUSTER_BLOCKS:
            found = f"{blocks} multiprocessor"
        if isinstance(found, str):
            self.env.note("block_pairs", {"declined": found})
            return None
        return found

    def _blocks_at_once(self, code: Stmt, channels: list[Pipeline]) -> int:
        """How many blocks a multiprocessor holds, by what their rings take of its memory and their threads of its
        registers."""
        taken = sum(channel.bytes * channel.slots for channel in channels) + OTHER_BYTES
        held = [a.buffer for a in collect(code, AllocBuffer) if is_fragment(a.buffer)]
        words = sum(prod(int(constant(s) or 0) for s in b.shape) * DType(dtype_of(b)).bits // 32 for b in held)
        registers = min(MOST_REGISTERS, words // self.threads.count + OTHERS)
        by_threads = REGISTERS // ((self.threads.count + WARP) * registers)
        return max(1, min(self.env.capabilities.shared_bytes // taken, by_threads))

    def _loop(self, node: For) -> Stmt:
        if BLOCKS in node.annotations or self.env.config.get(str(PassConfigKey.TL_DISABLE_PRODUCT_OVERLAP)):
            return node
        return overlapped(node, self.env)

    def _note(self, ring: CircularBuffer) -> None:
        names = ", ".join(str(tile.name) for tile in ring.channel.tiles)
        filled = "by a warp of its own"
        if ring.shared:
            both = ", ".join(dict.fromkeys(str(fill.tile.name) for fill in ring.shared))
            filled += f", {both} for both blocks of a pair"
        self.env.note("pipelines", {"tiles": names, "stages": ring.count, "filled": filled})


def _role(name: str, body: Stmt) -> Stmt:
    return AttrStmt(const(0, "int32"), ROLE, StringImm(name), body)


SPECIALIZE_WARPS = Pass("specialize_warps", specialize_warps)
