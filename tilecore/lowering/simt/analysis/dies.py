"""The order of blocks on a device of several dies, each with a cache of its own: neighbours in the order share a die.

Such hardware hands out blocks in turn: block ``b`` runs on die ``b % count``. So blocks that are neighbours in the
order of a kernel, and load the same tiles, run on different dies, and each die loads the tiles for itself. Here the
blocks are renumbered, so that each die gets ``run`` consecutive ones: of a segment of ``count * run`` blocks, the
first die gets the first ``run``, and so on. The blocks of the last segment, which may be smaller, are dealt out alike:
with ``n`` blocks, die ``d`` gets ``n / count`` of them, and one more if ``d < n % count``. The renumbering is a
bijection for every grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.ir.build import const, constant
from tilecore.ir.nodes import Call, Evaluate, Stmt, TensorRegion, Var, While, tirx
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import as_tile_call, tile_op_of
from tilecore.ir.visit import collect, variables
from tilecore.lowering.simt.analysis.panels import Definitions, Panels


@dataclass(frozen=True)
class Dies:
    """The dies of a device.

    count: their number. run: the consecutive blocks that a die gets. panel_rows: the rows of a panel of blocks, for
    kernels without T.use_swizzle whose rows of blocks share tiles, and whose columns do.
    """

    count: int
    run: int
    panel_rows: int


def renumbered(block: Any, total: Any, dies: Dies, dtype: str) -> tuple[list[Stmt], Any]:
    """Statements that compute the number in the kernel's order of the block that hardware starts as number ``block``.

    total: the number of blocks. dtype: of the computation. Returns the statements and the number.
    """
    definitions = Definitions(dtype)
    total = definitions.analyzer.simplify(total)
    count, most = const(dies.count, dtype), const(dies.count * dies.run, dtype)
    block = definitions.name("started", block)
    first = definitions.name("first", tirx.Div(block, most) * most)
    number = constant(total)
    is_even = number is not None and number % (dies.count * dies.run) == 0
    blocks = most if is_even else definitions.name("blocks", tirx.Min(most, total - first))
    inside = definitions.name("inside", block - first)
    die = definitions.name("die", tirx.Mod(inside, count))
    before = die * tirx.Div(blocks, count) + tirx.Min(die, tirx.Mod(blocks, count))
    return definitions.statements, first + before + tirx.Div(inside, count)


def has_product(kernel: Stmt) -> bool:
    """Does a kernel multiply tiles by T.gemm?"""
    ops = (tile_op_of(call) for call in collect(kernel, Call))
    return any(op is not None and op.name == "gemm" for op in ops)


def waits_for_others(kernel: Stmt) -> bool:
    """May a block wait for another one? Only a loop without a fixed number of turns can."""
    return bool(collect(kernel, While))


def default_panels(kernel: Stmt, across: Var, down: Var, dies: Dies) -> Panels:
    """The panels of a kernel without T.use_swizzle. across, down: its block indices along x and y.

    Where some tiles that it loads depend on x alone and others on y alone, as in a matrix product, both a row and a
    column of blocks share tiles. Otherwise, as in attention, the order stays row by row.
    """
    of_x, of_y = False, False
    for statement in collect(kernel, Evaluate):
        call = as_tile_call(statement)
        source = call.args.get("src") if call is not None and call.op.name == "copy" else None
        if isinstance(source, TensorRegion) and is_global(source.source):
            used = variables(source)
            of_x = of_x or (across in used and down not in used)
            of_y = of_y or (down in used and across not in used)
    return Panels(dies.panel_rows if of_x and of_y else 1, True)
