"""Keeps an operand A in registers where a loop multiplies one tile again and again, as attention does with its queries.

wgmma then reads only B from shared memory, and the tile's slot is free for the next block's once it has been read.
It is done where the registers of a thread hold all such operands beside the kernel's other fragments.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tile_cuda.lowering.hopper.wgmma_config import GROUP, wgmma_config_of
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of, seq, statements_of
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    Stmt,
    Var,
    structural_map,
    tirx,
)
from tilecore.ir.regions import is_whole, whole_region
from tilecore.ir.scopes import is_fragment, is_global, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.ir.visit import collect, variables
from tilecore.lowering.simt.state import threads_of_call

REGISTERS = 65536  # of a multiprocessor
MOST, OTHER = 240, 28  # registers of a thread; of those, beside its fragments


class _Operand(NamedTuple):
    """A tile that is loaded once and then read only as A by products in loops. load: the copy that loads it."""

    load: Evaluate
    tile: Var
    products: list[Evaluate]


def hold_operands(code: Stmt, env: PassEnv) -> Stmt:
    """The kernel's code with such operands in fragments."""
    operands = [operand for load in _loads(code) if (operand := _operand(load, code)) is not None]
    held = [_Held.of(operand, env) for operand in operands]
    usable = [item for item in held if item is not None]
    if not usable or len(usable) < len(held):
        return code
    names = ", ".join(str(item.operand.tile.name) for item in usable)
    lack = lack_of_registers(code, usable[0].threads, sum(item.registers for item in usable))
    if lack is not None:
        env.note("notes", {"text": f"{names}: products read it from shared memory; with it in registers {lack}"})
        return code
    env.note("notes", {"text": f"{names} is read into registers once, as the loop multiplies it in every iteration"})
    changed = {node: statement for item in usable for node, statement in item.changes().items()}
    return structural_map(code, (Evaluate, lambda node: changed.get(node, node)))


def _loads(code: Stmt) -> list[Evaluate]:
    """The copies of whole shared tiles from global memory in the kernel's outermost block of code."""
    copies = []
    for statement in statements_of(code):
        call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
        if call is None or call.op.name != "copy" or not is_whole(call.dst):
            continue
        if is_global(call.src.source) and is_shared(call.dst.source) and len(call.dst.source.shape) == 2:
            copies.append(statement)
    return copies


def _operand(load: Evaluate, code: Stmt) -> _Operand | None:
    call = as_tile_call(load)
    assert call is not None
    tile = call.dst.source
    products = []
    for loop in (s for s in statements_of(code) if isinstance(s, For) and s.kind == ForKind.SERIAL):
        products += [node for node in collect(loop, Evaluate) if _is_a_of(tile, as_tile_call(node))]
    nodes = {load, *products}
    rest = structural_map(code, (Evaluate, lambda node: seq([]) if node in nodes else node))
    rest = structural_map(rest, (AllocBuffer, lambda node: seq([]) if node.buffer == tile else node))
    return _Operand(load, tile, products) if products and tile not in variables(rest) else None


def _is_a_of(tile: Var, call: TileCall | None) -> bool:
    if call is None or call.op.name != "gemm" or not call.a.source.same_as(tile) or call.transpose_a:
        return False
    return is_whole(call.a) and tile not in (call.b.source, call.c.source)


class _Held(NamedTuple):
    """An operand in a fragment. products: the products with the fragment as A. registers: of a thread."""

    operand: _Operand
    fragment: Var
    products: dict[Evaluate, Evaluate]
    threads: int
    registers: int

    @staticmethod
    def of(operand: _Operand, env: PassEnv) -> _Held | None:
        """None where wgmma cannot take A from registers."""
        tile = operand.tile
        shape = [int(constant(size) or 0) for size in tile.shape]
        name = f"{tile.name}_held"
        fragment = tirx.decl_buffer(shape, dtype_of(tile), name, scope="local.fragment", layout=None)
        products = {node: _product_of(node, fragment) for node in operand.products}
        registers, threads = 0, 0
        for call in (as_tile_call(node) for node in products.values()):
            assert call is not None
            threads = threads_of_call(call, env) or 0
            config = wgmma_config_of(call, env, threads)
            if isinstance(config, str):
                return None
            words = prod(shape) * DType(dtype_of(tile)).bits // 32
            registers = max(registers, words * config.along_n // threads)
        return _Held(operand, fragment, products, threads, registers)

    def changes(self) -> dict[Evaluate, Stmt]:
        """The statements that take the place of the load and of the products."""
        load = as_tile_call(self.operand.load)
        assert load is not None
        to_fragment = tile_statement("copy", [load.dst, whole_region(self.fragment)], span=load.span)
        return {self.operand.load: seq([self.operand.load, AllocBuffer(self.fragment), to_fragment]), **self.products}


def _product_of(node: Evaluate, fragment: Var) -> Evaluate:
    call = as_tile_call(node)
    assert call is not None
    args = list(call.call.args)
    args[call.op.operand_names().index("a")] = whole_region(fragment)
    return call.rebuilt(args)


def lack_of_registers(code: Stmt, threads: int, more: int = 0) -> str | None:
    """Why a consumer's thread does not hold the kernel's fragments and ``more`` registers; None where it does."""
    needed, most = more + _words(code) // threads + OTHER, _most_registers(threads)
    return f"a thread would need {needed} registers, and has {most}" if needed > most else None


def _words(code: Stmt) -> int:
    """The registers of all threads that the kernel's fragments take; those that no statement uses take none."""
    used = set[Var]().union(*(variables(node) for node in collect(code, Evaluate, BufferStore)))
    fragments = [alloc.buffer for alloc in collect(code, AllocBuffer) if is_fragment(alloc.buffer)]
    fragments = [buffer for buffer in fragments if buffer in used]
    return sum(prod(int(constant(s) or 0) for s in b.shape) * DType(dtype_of(b)).bits // 32 for b in fragments)


def _most_registers(threads: int) -> int:
    """The registers of a consumer's thread beside a producer warpgroup."""
    groups = -(-threads // GROUP)
    return min(MOST, (REGISTERS // GROUP - 24) // groups // 8 * 8)
