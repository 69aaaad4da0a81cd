"""Implements T.gemm by ``mma.sync``: each warp computes its part of C, one step along K after the other.

It emits the loop over the steps inside of attributes that mark its parts. ``schedule_mma`` then chooses when the
operands of each step are loaded to registers.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.attributes import CudaStatementAttr
from tile_cuda.lowering import matrix_loads, word_loads
from tile_cuda.lowering.mma_config import MmaConfig, mma_config_of, reads_a_from_registers
from tile_cuda.lowering.operands import Operand, operand_a, operand_b
from tile_cuda.lowering.swizzle import swizzled
from tile_cuda.target import architecture_of
from tilecore.contract.implementation import SHARED, TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import const, dtype_of, load, loop, seq
from tilecore.ir.fragments import REGISTER, THREAD, FragmentLayout, resized, tiled
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Expr, For, ForKind, IfThenElse, Stmt, Var
from tilecore.ir.scopes import is_fragment, is_shared
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.state import ThreadCount, threads_of_call
from tilecore.lowering.simt.thread_env import ThreadEnv
from tilecore.lowering.simt.tile_ops.accumulators import Accumulator, is_whole_fragment


def matches(call: TileCall, env: PassEnv) -> str | None:
    config = mma_config_of(call, env, threads_of_call(call, env))
    if isinstance(config, str):
        return config
    for name, region in (("A", call.a), ("B", call.b), ("C", call.c)):
        if not is_shared(region.source) and not is_fragment(region.source):
            return f"{name} is in {region.source.scope()} memory"
    return None


def layouts(call: TileCall, env: PassEnv) -> dict[Any, Any]:
    """Layouts of the shared operands that avoid bank conflicts."""
    layouts_by_buffer = {}
    for region, along_k in ((call.a, not call.transpose_a), (call.b, bool(call.transpose_b))):
        bits = DType(dtype_of(region.source)).bits
        by_words = bits == 64 or (bits == 32 and not along_k)
        layout = None if is_fragment(region.source) else swizzled(region.source, by_words)
        if layout is not None:
            layouts_by_buffer[region.source] = layout
    return layouts_by_buffer


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    """The fragment layouts of A and C that the instructions define; other operands must be in shared memory."""
    p = mma_config_of(call, env, threads)
    assert isinstance(p, MmaConfig)
    layouts_by_buffer: dict[Any, Any] = {r.source: SHARED for r in (call.a, call.b, call.c) if is_fragment(r.source)}
    if is_whole_fragment(call.c):
        layouts_by_buffer[call.c.source] = layout_of_c(p, threads)
    if reads_a_from_registers(call, p) and not call.a.source.same_as(call.c.source):
        along = [(1, p.steps, REGISTER), (0, p.m_tiles, REGISTER), (0, p.along_m, THREAD)]
        layouts_by_buffer[call.a.source] = resized(
            tiled(p.shape.operand_a, along, (p.m, p.k)), threads
        )  # warps along N hold copies
    return layouts_by_buffer


def layout_of_c(p: MmaConfig, threads: int) -> FragmentLayout:
    repeats = [(1, p.n_tiles, REGISTER), (0, p.m_tiles, REGISTER), (0, p.along_m, THREAD), (1, p.along_n, THREAD)]
    return resized(tiled(p.shape.accumulator, repeats, (p.m, p.n)), threads)


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    return _Lowering(call, env).run()


class _Lowering:
    def __init__(self, call: TileCall, env: ThreadEnv) -> None:
        self.call, self.binding = call, env.binding
        config = mma_config_of(call, env, self.binding.threads)
        assert isinstance(config, MmaConfig)
        self.p = p = config
        self.arch = architecture_of(env.target).capability
        warp, lane = self.binding.thread // WARP, self.binding.thread % WARP
        row = warp % p.along_m * (p.m_tiles * p.shape.rows)
        column = (warp // p.along_m % p.along_n if p.copies > 1 else warp // p.along_m) * (p.n_tiles * p.shape.columns)
        shared_layouts = env.state(BufferLayouts).by_buffer
        self.a = (
            None
            if reads_a_from_registers(call, p)
            else operand_a(call, p, lane, row, shared_layouts.get(call.a.source))
        )
        self.b = operand_b(call, p, lane, column, shared_layouts.get(call.b.source))
        accumulator_registers = self.binding.registers[call.c.source] if is_whole_fragment(call.c) else None
        self.accumulator = Accumulator(
            call, layout_of_c(p, self.binding.threads), self.binding.thread, accumulator_registers, p.shape.c
        )

    def run(self) -> Stmt:
        step = Var("step", "int32")
        operands = [operand for operand in (self.a, self.b) if operand is not None]
        loads = seq([self._loads(operand, step) for operand in operands])
        body = seq(
            [AttrStmt(const(0, "int32"), CudaStatementAttr.OPERANDS, const(1, "int32"), loads), self._multiply(step)]
        )
        steps: Stmt = For(step, const(0, "int32"), const(self.p.steps, "int32"), ForKind.UNROLLED, body)
        registers: list[Stmt] = [AllocBuffer(operand.registers) for operand in operands]
        gemm = seq([*self.accumulator.before(), *registers, steps, *self.accumulator.after()])
        return AttrStmt(const(0, "int32"), CudaStatementAttr.GEMM, const(1, "int32"), gemm, span=self.call.span)

    def _loads(self, operand: Operand, step: Var) -> Stmt:
        if not matrix_loads.fits(operand, self.arch):
            return word_loads.loads(operand, step)
        whole = matrix_loads.loads(operand, step)
        if not operand.k_overshoots:
            return whole
        last = const(self.p.steps - 1, "int32")
        return IfThenElse(step < last, whole, word_loads.loads(operand, step))

    def _multiply(self, step: Var) -> Stmt:
        def multiply_tile(i: Any, j: Any) -> Stmt:
            c = load(self.accumulator.registers, [(i * self.p.n_tiles + j) * self.p.shape.accumulator.registers])
            a, b = self._register_of_a(step, i), self.b.register(step, j)
            return instructions.mma(self.p.shape.name, c, a, b, self.call.span)

        def row(i: Any) -> Stmt:
            return loop(const(self.p.n_tiles, "int32"), lambda j: multiply_tile(i, j), name="j", kind=ForKind.UNROLLED)

        return loop(const(self.p.m_tiles, "int32"), row, name="i", kind=ForKind.UNROLLED)

    def _register_of_a(self, step: Var, i: Any) -> Expr:
        if self.a is not None:
            return self.a.register(step, i)
        registers = self.binding.registers[self.call.a.source]
        return load(registers, [(i * self.p.steps + step) * self.p.shape.operand_a.registers])


MMA_SYNC = TileOpImpl(
    "gemm",
    "mma.sync",
    lower,
    matches,
    priority=20,
    late=True,
    layouts=layouts,
    fragments=fragments,
    needs=(ThreadCount, BufferLayouts),
)
