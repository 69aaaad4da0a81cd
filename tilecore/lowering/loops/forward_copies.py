"""Leaves out copies of one buffer of the block to another of the same type: what reads the copy reads the original.

On one core both lie in the same memory. Attention, for example, copies its scores to the operand of the second product,
which other targets hold in another form. The original must stay as it is until the last read of the copy.
"""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import constant, dtype_of, seq, statements_of
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import PrimFunc, Stmt, TensorRegion, Var
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_global
from tilecore.ir.visit import variables
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis
from tilecore.lowering.loops.moved_tiles import in_buffer, without_copies
from tilecore.lowering.loops.tile_uses import KernelUses, Use, note_copy, statements_between


def forward_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    memory = Memory(func.body)
    statements = []
    for statement in statements_of(func.body):
        copy = _unneeded(statement, memory) if is_axis(statement) else None
        while copy is not None:
            call = copy.call
            assert call is not None
            name, original = str(call.dst.source.name), call.src.source
            note_copy(env, copy, "forwarded", name, f"{name} is {original.name} itself, without a copy")
            statement = without_copies(statement, [copy.statement], {call.dst.source: in_buffer(original)})
            copy = _unneeded(statement, memory)
        statements.append(statement)
    return func.with_body(seq(statements))


def _unneeded(kernel: Stmt, memory: Memory) -> Use | None:
    uses = KernelUses(axes_and_code(kernel)[1])
    return next((use for use in uses.uses if _can_go(use, uses, memory)), None)


def _can_go(copy: Use, uses: KernelUses, memory: Memory) -> bool:
    call = copy.call
    if call is None or call.op.name != "copy" or copy.conditional or not (is_whole(call.src) and is_whole(call.dst)):
        return False
    original, target = call.src.source, call.dst.source
    if {original, target} - uses.allocated or original in memory.roots or target in memory.roots:
        return False
    if is_global(original) or is_global(target) or dtype_of(original) != dtype_of(target):
        return False
    if [constant(size) for size in original.shape] != [constant(size) for size in target.shape]:
        return False
    readers = [use for use in uses.of(target) if use is not copy]
    return all(use.is_at_or_below(copy) and _only_reads(use, target, original) for use in readers) and not any(
        memory.may_change(writes_of(between.statement), original)
        for use in readers
        for between in statements_between(copy, use, uses)
    )


def _only_reads(use: Use, target: Var, original: Var) -> bool:
    """Is the statement a tile operation that reads the copy by whole operands, and does it not write the original?"""
    call = use.call
    if call is None:
        return False
    if any(call.args[name].source in (target, original) for name in call.op.writes if name in call.args):
        return False
    operands = {name for name, value in call.args.items() if isinstance(value, TensorRegion)}
    others = [value for name, value in call.args.items() if name not in operands and not isinstance(value, (int, str))]
    hints = [hint for hint in call.hints.values() if not isinstance(hint, (int, str))]
    in_regions = any(target in variables(r.min) for name in operands for r in call.args[name].region)
    return not in_regions and not any(target in variables(value) for value in (*others, *call.rest, *hints))


FORWARD_COPIES = Pass("forward_copies", forward_copies)
