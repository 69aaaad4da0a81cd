"""Prefetches the tiles of T.Pipelined loops into registers, for targets without asynchronous copies to shared memory.

Iteration k loads the tiles of iteration k + 1 from global memory to registers before it computes, and stores them to
shared memory behind the computation, so that the loads are in flight meanwhile. The prologue copies the tiles of the
first iteration. A tile keeps one slot, whatever the number of stages: its next contents are in registers.

The last iteration loads and stores its own tiles once more. A condition instead would split the loop into several basic
blocks, and compilers move computation from the first into the last one, behind the stores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir import sizes
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import const, dtype_of, seq, where
from tilecore.ir.memory_writes import Memory
from tilecore.ir.nodes import AllocBuffer, BufferRegion, Evaluate, For, PrimFunc, Stmt, Var, structural_mutate, tirx
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, jumps_out, substitute
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.simt.analysis.copies_ahead import CopiesAhead, copies_of_iteration, simplified, without_stages

MOST_BYTES = 256  # that a thread prefetches if the target does not say otherwise: 64 registers


def prefetch_loops(
    func: PrimFunc, env: PassEnv, most_bytes: Callable[[Stmt, int], int] = lambda body, threads: MOST_BYTES
) -> PrimFunc:
    """Prefetches the tiles of the function's pipelined loops.

    most_bytes: those that a thread may prefetch in a loop, by the kernel's body and the threads of its block.
    """
    memory = Memory(func.body)
    claimed: set[Var] = set()

    def of_kernel(body: Stmt, threads: Threads) -> Stmt:
        most = most_bytes(body, threads.count) * threads.count

        def loop(node: For, mutator: Any) -> Any:
            rewritten = mutator.default_mutate(node)
            if int(rewritten.annotations.get(LoopAttr.STAGES, 0)) < 2:
                return rewritten
            split = CopiesAhead(rewritten, memory, claimed)
            if not split.ahead or not split.rest or any(map(jumps_out, split.rest)):
                return rewritten
            claimed.update(split.tiles)
            return _Prefetch(rewritten, split, most, env).run()

        return structural_mutate(body, [(For, loop)])

    return func.with_body(each_kernel(func.body, of_kernel))


def beside_sums(registers: int, others: int, most: int) -> Callable[[Stmt, int], int]:
    """What a thread may prefetch beside the sums of the kernel's products: 4 bytes for each register that is left.

    registers: that a thread may have. others: those for operands and addresses. most: the most bytes.
    """

    def most_bytes(body: Stmt, threads: int) -> int:
        sums: dict[Var, int] = {}
        for node in collect(body, Evaluate):
            call = as_tile_call(node)
            if call is not None and call.op.name == "gemm":
                sums[call.c.source] = bytes_of(call.c.source) or 0
        return max(0, min((registers - others) * 4 - sum(sums.values()) // threads, most))

    return most_bytes


class _Prefetch:
    """One loop. copies: those that go through registers, with their registers. direct: those of tiles that are too
    large for registers, in each iteration before it computes. most_bytes: that the block may prefetch.
    """

    def __init__(self, node: For, split: CopiesAhead, most_bytes: int, env: PassEnv) -> None:
        self.node, self.rest = node, split.rest
        self.copies: list[tuple[Stmt, Var]] = []
        self.direct: list[Stmt] = []
        left, names = most_bytes, []
        for copy, tile in zip(split.ahead, split.tiles, strict=True):
            size = bytes_of(tile)
            if size is None or size > left:
                self.direct.append(copy)
                continue
            self.copies.append((copy, _registers_for(tile)))
            names.append(str(tile.name))
            left -= size
        if names:
            env.note("pipelines", {"tiles": ", ".join(names), "stages": 2, "filled": "through registers"})

    def run(self) -> Stmt:
        node = self.node
        if not self.copies:
            return node
        k, dtype = node.loop_var, dtype_of(node.loop_var)
        end = node.min + node.extent
        following = simplified(tirx.min(k + const(1, dtype), end - const(1, dtype)))
        loads = [self._load(copy, registers, following) for copy, registers in self.copies]
        stores = [_store(copy, registers) for copy, registers in self.copies]
        body = seq([*loads, *self.direct, *self.rest, *stores])
        loop = For(k, node.min, node.extent, node.kind, body, annotations=without_stages(node), span=node.span)
        first, conditions = copies_of_iteration([copy for copy, _ in self.copies], node, node.min)
        allocations = [AllocBuffer(registers) for _, registers in self.copies]
        return seq([*allocations, where(conditions, seq(first)), loop])

    def _load(self, copy: Stmt, registers: Var, iteration: Any) -> Stmt:
        """The copy of an iteration, to registers instead of the tile."""
        call = as_tile_call(substitute(copy, {self.node.loop_var: iteration}))
        assert call is not None
        operands = {**call.args, "dst": BufferRegion(registers, list(call.dst.region))}
        return call.rebuilt(list(operands.values()))


def _store(copy: Stmt, registers: Var) -> Stmt:
    """The copy from registers to the tile."""
    call = as_tile_call(copy)
    assert call is not None
    operands = {**call.args, "src": BufferRegion(registers, list(call.dst.region))}
    return call.rebuilt(list(operands.values()), hints={})


def _registers_for(tile: Var) -> Var:
    shape, name = list(tile.shape), f"{tile.name}_next"
    return tirx.decl_buffer(shape, dtype_of(tile), name, scope="local.fragment", layout=None)


def bytes_of(tile: Var) -> int | None:
    """The size of a tile; None for tiles that registers cannot have: of packed elements, or of unknown size."""
    return None if DType(dtype_of(tile)).bits % 8 else sizes.bytes_of(tile)


PREFETCH_LOOPS = Pass("prefetch_loops", prefetch_loops)  # for pipeline_loops, where copies are not asynchronous
