"""Adds the parts of a sum that the blocks of a cluster have computed (split_k.py).

All blocks hold the accumulator in the same registers of the same threads. A block writes its registers to its shared
memory, 16 bytes of a thread next to those of the following thread. After a barrier of the cluster others read them
there and add them to their own. PTX ISA, "mapa" and "barrier.cluster".

Where the accumulator has slices along an axis that are the same registers in every thread, each block adds one slice:
all blocks read at the same time, each a part of what the first would have to read alone. Else the first adds them all,
in the order of the blocks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tile_cuda import instructions
from tile_cuda.operations import ADD_PARTS as OPERATION
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, constant, dtype_of, load, loop, seq, store
from tilecore.ir.fragments import THREAD, FragmentLayout
from tilecore.ir.nodes import EQ, NE, AllocBuffer, AttrStmt, ForKind, IfThenElse, Stmt, Var, tirx
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.thread_env import ThreadEnv

PIECE = 4  # registers that a thread writes or reads at once


def registers_of_slices(layout: FragmentLayout, axis: int, parts: int) -> list[list[range]] | None:
    """For each of ``parts`` equal slices along an axis the ranges of registers that hold it, in whole pieces.

    None where a slice is not the same registers in every thread, or where they are no whole pieces.
    """
    size = layout.shape[axis] // parts
    if layout.shape[axis] % parts or layout.is_replicated or not layout.is_exact:
        return None
    if any(d.axis == axis and d.where == THREAD and (d.end > size or size % d.end) for d in layout.digits):
        return None
    slices: list[list[range]] = [[] for _ in range(parts)]
    slice_of = [int(layout.indices(0, register)[axis]) // size for register in range(layout.registers)]
    cuts = [r for r in range(layout.registers + 1) if r in (0, layout.registers) or slice_of[r] != slice_of[r - 1]]
    if any(cut % PIECE for cut in cuts):
        return None
    for first, end in pairwise(cuts):
        slices[slice_of[first]].append(range(first, end))
    return slices


def matches(call: TileCall, env: PassEnv) -> str | None:
    return None if is_fragment(call.buffer.source) else f"{call.buffer.source.name} is not a fragment"


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    registers = env.binding.registers[call.buffer.source]
    count = int(constant(registers.shape[0]) or 0)
    piece = PIECE if count % PIECE == 0 else 1
    shape = [count // piece, env.binding.threads, piece]
    parts = tirx.decl_buffer(shape, dtype_of(registers), "part_of_sum", scope="shared", layout=None)
    write = _nest(_write(registers, parts, env.binding.thread), call)
    if call.axis < 0:
        write = IfThenElse(NE(call.part, const(0, "int32")), write, None)
        slices = [[range(count)]]
    else:
        register_slices = registers_of_slices(env.binding.layout(call.buffer.source), call.axis, call.parts)
        assert register_slices is not None  # split_k has looked at the same layout
        slices = register_slices
    adds = [_add_slice(registers, parts, env.binding.thread, part, ranges, call) for part, ranges in enumerate(slices)]
    is_first = EQ(call.part, const(0, "int32"))
    add = IfThenElse(is_first, adds[0], None) if call.axis < 0 else one_of(call.part, adds)
    return seq(
        [
            AllocBuffer(parts),
            write,
            instructions.cluster("barrier", call.span),
            add,
            instructions.cluster("arrive", call.span),
        ]
    )


def one_of(part: Any, statements: list[Stmt]) -> Stmt:
    """The statement whose index is the block's rank ``part``."""
    chosen = statements[-1]
    for rank, statement in reversed(list(enumerate(statements[:-1]))):
        chosen = IfThenElse(EQ(part, const(rank, "int32")), statement, chosen)
    return chosen


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


def _add_slice(registers: Var, parts: Var, thread: Any, part: int, ranges: list[range], call: TileCall) -> Stmt:
    """In block ``part``: adds what the other blocks have written of these registers, in the order of the blocks."""
    others = [other for other in range(call.parts) if other != part]
    adds = seq([_add(registers, parts, thread, other, held, call) for other in others for held in ranges])
    return _nest(adds, call)


def _add(registers: Var, parts: Var, thread: Any, other: int, held: range, call: TileCall) -> Stmt:
    """Adds what the block ``other`` has written of a range of a thread's registers."""
    piece = int(constant(parts.shape[2]) or 0)

    def add(index: Any) -> Stmt:
        index = const(held.start // piece, "int32") + index
        to = load(registers, [index * const(piece, "int32")])
        return instructions.add_remote(to, load(parts, [index, thread, const(0, "int32")]), other, piece, call.span)

    return loop(const(len(held) // piece, "int32"), add, name="i", kind=ForKind.UNROLLED)


ADD_PARTS = TileOpImpl(OPERATION.name, "through distributed shared memory", lower, matches, late=True)
