"""Keeps operands of wgmma that registers hold live until the end of the loops that multiply them.

ptxas loses such registers. Where a loop multiplies registers that are written before the loop, as a tile of Q, and the
last code that names them is the wgmma in the loop, ptxas takes that for the end of their live range and gives them to
other values in the same loop; from the second iteration on, products are wrong (CUDA 13.0; docs/notes/hopper.md). So a
statement after the loop reads the registers.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tile_cuda import instructions
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, constant, load, op_name, seq
from tilecore.ir.nodes import BufferStore, Call, For, ForKind, PrimFunc, Stmt, TensorLoad, Var, While, structural_mutate
from tilecore.ir.visit import collect


def keep_operands(func: PrimFunc, env: PassEnv) -> PrimFunc:
    kept: list[set[Var]] = [set()]  # of the loops around a statement: what is kept until their ends

    def loop(node: Any, mutator: Any) -> Any:
        if isinstance(node, For) and node.kind != ForKind.SERIAL:
            return mutator.default_mutate(node)
        operands = [operand for operand in invariant_operands(node) if operand not in kept[-1]]
        kept.append(kept[-1] | set(operands))
        inner = mutator.default_mutate(node)
        kept.pop()
        return seq([inner, *(_keep(operand, node.span) for operand in operands)])

    return func.with_body(structural_mutate(func.body, [((For, While), loop)]))


def invariant_operands(loop: Stmt) -> list[Var]:
    """The registers that a loop multiplies as A and does not write, in the order of the code."""
    written = {store.buffer for store in collect(loop, BufferStore)}
    products = [call for call in collect(loop, Call) if op_name(call) == instructions.WGMMA_RS]
    operands = {_registers_of(call): None for call in products}
    return [operand for operand in operands if operand not in written]


def _registers_of(call: Call) -> Var:
    first = call.args[3]  # of (instruction, b_by_n, accumulator, a, b, add)
    assert isinstance(first, TensorLoad)
    return first.source


def _keep(operand: Var, span: Any) -> Stmt:
    zeros = [const(0, "int32") for _ in operand.shape]
    count = prod(int(constant(size) or 1) for size in operand.shape)
    return instructions.keep_registers(load(operand, zeros), count, span)


KEEP_OPERANDS = Pass("keep_operands", keep_operands)
