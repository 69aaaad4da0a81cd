"""Distributes the blocks of a kernel's grid over the cores of a launch, as a loop over blocks on each core.

The distribution is cyclic, and every other round is reversed: round t assigns block ``t * cores + c`` to core ``c``, or
to core ``cores - 1 - c`` where t is odd. The numbers of blocks of two cores differ by one at most. Work that grows or
shrinks along the grid (causal attention, tails) is balanced, unlike with contiguous ranges of blocks. Contiguous ranges
would gain nothing, as the cores have no common cache.

The kernel gets the attribute ``tpu.cores``: the number of cores of its launch. Kernels with dependences between blocks
(``block_dependences.py``) use one core, which runs the blocks in order, x fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_tpu.chips import chip_of
from tile_tpu.ir.attributes import TpuFunctionAttr
from tile_tpu.ir.instructions import CORE_INDEX, as_command
from tile_tpu.lowering.block_dependences import why_one_core
from tile_tpu.lowering.kernels import of_each_kernel
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import cast, const, constant, dtype_of, seq, statements_of
from tilecore.ir.nodes import AllocBuffer, Bind, Call, For, ForKind, PrimFunc, Stmt, Var, tirx
from tilecore.ir.ranges import within
from tilecore.ir.visit import substitute


def spread_blocks(func: PrimFunc, env: PassEnv) -> PrimFunc:
    axes = list(zip(func.attrs[FunctionAttr.BLOCK_VARS], func.attrs[FunctionAttr.GRID], strict=True))
    chip = chip_of(env.target)
    most = min(int(env.target.get("cores") or 0) or chip.cores, chip.launch_cores)
    blocks = _product([extent for _, extent in axes])
    constant_blocks = constant(blocks)
    cores = most if constant_blocks is None else max(1, min(most, constant_blocks))
    reason = why_one_core(func) if cores > 1 else None
    cores = 1 if reason else cores
    if reason:
        env.note("blocks", {"order": f"in order on one core: {reason}"})
    elif cores > 1:
        env.note("blocks", {"order": f"on {cores} cores, distributed cyclically"})
    single = {var: const(0, dtype_of(var)) for var, extent in axes if constant(extent) == 1}
    once, body = _split_table_loads(substitute(func.body, single))
    axes = [(var, extent) for var, extent in axes if var not in single]
    loops = _in_order(axes, body) if cores == 1 else _in_rounds(axes, blocks, cores, body)
    return func.with_body(seq([*once, loops])).with_attr(TpuFunctionAttr.CORES, cores)


def _product(extents: Sequence[Any]) -> Any:
    total: Any = const(1, "int32")
    for extent in extents:
        total = total * cast(extent, "int32")
    return Analyzer().simplify(total)


def _split_table_loads(body: Stmt) -> tuple[list[Stmt], Stmt]:
    """(the table loads at the beginning of the body, which run once for all blocks; the rest of the body)"""
    parts = statements_of(body)
    count, allocated = 0, set()
    while count < len(parts):
        part = parts[count]
        command = as_command(part)
        if isinstance(part, AllocBuffer):
            allocated.add(part.buffer)
        elif command is None or command.instruction.name != "load_table" or command.views()[0].buffer not in allocated:
            break
        count += 1
    while count and isinstance(parts[count - 1], AllocBuffer):
        count -= 1
    return parts[:count], seq(parts[count:])


def _in_order(axes: Sequence[tuple[Var, Any]], body: Stmt) -> Stmt:
    """Loops over the grid, x innermost."""
    for var, extent in axes:
        body = For(var, const(0, dtype_of(var)), cast(extent, dtype_of(var)), ForKind.SERIAL, body)
    return body


def _in_rounds(axes: Sequence[tuple[Var, Any]], blocks: Any, cores: int, body: Stmt) -> Stmt:
    core = Var("core", "int32")
    head: list[Stmt] = [Bind(core, Call(CORE_INDEX, [], ret_ty="int32")), within(core, const(cores, "int32"))]
    if constant(blocks) == cores:
        return seq([*head, *_indices(axes, core), body])
    round_index, block = Var("turn", "int32"), Var("block", "int32")
    if constant(blocks) is None:
        count = Var("blocks", "int32")
        head.append(Bind(count, blocks))
        blocks = count
    rounds = _round_count(core, blocks, cores)
    step = [
        Bind(block, round_index * cores + _block_in_round(core, round_index, cores)),
        within(block, blocks),
        *_indices(axes, block),
        body,
    ]
    number = Analyzer().simplify(rounds)
    if constant(number) is None:
        count = Var("turns", "int32")
        head.append(Bind(count, number))
        number = count
    return seq([*head, For(round_index, const(0, "int32"), number, ForKind.SERIAL, seq(step))])


def _round_count(core: Var, blocks: Any, cores: int) -> Any:
    """The number of rounds in which a core gets a block."""
    constant_blocks = constant(blocks)
    if constant_blocks is not None and constant_blocks % cores == 0:
        return const(constant_blocks // cores, "int32")
    full, rest = tirx.Div(blocks, const(cores, "int32")), tirx.Mod(blocks, const(cores, "int32"))
    return full + cast(_block_in_round(core, full, cores) < rest, "int32")


def _block_in_round(core: Var, round_index: Any, cores: int) -> Any:
    """The position of a core's block in a round: the core's index, reversed in odd rounds."""
    return tirx.Select(
        tirx.EQ(tirx.Mod(round_index, const(2, "int32")), const(0, "int32")), core, const(cores - 1, "int32") - core
    )


def _indices(axes: Sequence[tuple[Var, Any]], block: Var) -> list[Stmt]:
    """Binds the block's indices along the axes of the grid, from its linear index, x fastest."""
    bindings: list[Stmt] = []
    rest: Any = block
    for number, (var, extent) in enumerate(axes):
        dtype = dtype_of(var)
        size = cast(extent, "int32")
        value: Any = rest
        if number < len(axes) - 1:
            value, rest = tirx.Mod(rest, size), tirx.Div(rest, size)
        bindings += [Bind(var, cast(value, dtype)), within(var, cast(extent, dtype))]
    return bindings


SPREAD_BLOCKS = Pass("spread_blocks", of_each_kernel(spread_blocks))
