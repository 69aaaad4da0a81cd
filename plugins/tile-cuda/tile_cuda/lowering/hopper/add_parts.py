"""Adds the parts of a sum that the blocks of a cluster have computed, in the first of them (split_k.py).

All blocks hold the accumulator in the same registers of the same threads. Each block but the first writes its registers
to its shared memory, 16 bytes of a thread next to those of the following thread. After a barrier of the cluster the
first block reads them there and adds them, in the order of the blocks. PTX ISA, "mapa" and "barrier.cluster".
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.operations import ADD_PARTS as OPERATION
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, constant, dtype_of, load, loop, seq, store
from tilecore.ir.nodes import EQ, NE, AllocBuffer, AttrStmt, ForKind, IfThenElse, Stmt, Var, tirx
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.thread_env import ThreadEnv

PIECE = 4  # registers that a thread writes or reads at once


def matches(call: TileCall, env: PassEnv) -> str | None:
    return None if is_fragment(call.buffer.source) else f"{call.buffer.source.name} is not a fragment"


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    registers = env.binding.registers[call.buffer.source]
    count = int(constant(registers.shape[0]) or 0)
    piece = PIECE if count % PIECE == 0 else 1
    shape = [count // piece, env.binding.threads, piece]
    parts = tirx.decl_buffer(shape, dtype_of(registers), "part_of_sum", scope="shared", layout=None)
    zero = const(0, "int32")
    adds = [_add(registers, parts, env.binding.thread, part, call) for part in range(1, call.parts)]
    return seq(
        [
            AllocBuffer(parts),
            IfThenElse(NE(call.part, zero), _nest(_write(registers, parts, env.binding.thread), call), None),
            instructions.cluster("barrier", call.span),
            IfThenElse(EQ(call.part, zero), _nest(seq(adds), call), None),
            instructions.cluster("arrive", call.span),
        ]
    )


def _nest(body: Stmt, call: TileCall) -> Stmt:
    return AttrStmt(const(0, "int32"), StatementAttr.NEST, const(1, "int32"), body, span=call.span)


def _write(registers: Var, parts: Var, thread: Any) -> Stmt:
    """Writes a thread's registers to the block's shared memory."""
    pieces, _, piece = (int(constant(size) or 0) for size in parts.shape)

    def write_piece(index: Any) -> Stmt:
        def write(element: Any) -> Stmt:
            return store(parts, load(registers, [index * const(piece, "int32") + element]), [index, thread, element])

        return loop(const(piece, "int32"), write, name="n", kind=ForKind.VECTORIZED)

    return loop(const(pieces, "int32"), write_piece, name="i", kind=ForKind.UNROLLED)


def _add(registers: Var, parts: Var, thread: Any, part: int, call: TileCall) -> Stmt:
    """Adds what the block ``part`` has written to a thread's registers."""
    pieces, _, piece = (int(constant(size) or 0) for size in parts.shape)

    def add(index: Any) -> Stmt:
        to = load(registers, [index * const(piece, "int32")])
        return instructions.add_remote(to, load(parts, [index, thread, const(0, "int32")]), part, piece, call.span)

    return loop(const(pieces, "int32"), add, name="i", kind=ForKind.UNROLLED)


ADD_PARTS = TileOpImpl(OPERATION.name, "through distributed shared memory", lower, matches, late=True)
