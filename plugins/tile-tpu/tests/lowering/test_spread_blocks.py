"""spread_blocks: the distribution of a kernel's grid over the cores."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import LANES, alloc, do, environment, kernel, local, loop, piece, run, tensor, tile
from core_model import Machine
from tile_tpu.ir.instructions import as_command
from tile_tpu.lowering.passes.spread_blocks import SPREAD_BLOCKS

from tilecore.ir.build import const, statements_of, store
from tilecore.ir.nodes import BufferLoad, DeclBuffer, Evaluate, PrimFunc, Var, tirx
from tilecore.ir.tile_ops import tile_call

BX, BY, BZ = (Var(f"b{x}", "int32") for x in "xyz")


def made_kernel(grid, *body, params=None):
    sizes = [const(g, "int32") if isinstance(g, int) else g for g in grid]
    params = [tensor("marks", 4096)] if params is None else params
    return kernel(params, *body, **{"tile.grid": sizes, "tile.block_vars": [BX, BY, BZ]})


def marking(grid, extra=()):
    """A kernel in which every block copies a ten, and its indices, to its row of the output."""
    marks, seen = tensor("marks", 1 << 16), local("seen", 64)
    at = (BX + BY * 40 + BZ * 1600) * 4
    element = marks, 0, (1, 1, 1, 1), (4, 4, 4, 1)
    from tile_tpu.ir.views import View

    def part(i):
        return View(element[0], element[1], at + i, element[2], element[3])

    fill = [
        s
        for i, value in enumerate((10, BX, BY, BZ))
        for s in (
            do("fill", tile(seen, 1, 1), value if isinstance(value, Var) else const(value, "int32")),
            do("store", part(i), tile(seen, 1, 1)),
        )
    ]
    return made_kernel(grid, *alloc(seen), *fill, params=[marks, *extra])


def blocks_of(func: PrimFunc, sizes=()):
    """For each core the (x, y, z) of the blocks that it runs, from the rows that it has written."""
    blocks = []
    for core in range(int(func.attrs["tpu.cores"])):
        memory = {"marks": np.zeros(1 << 16)}
        machine = Machine(memory, core=core)
        machine.values.update(sizes)
        machine.run(func.body)
        rows = memory["marks"].reshape(-1, 4)
        blocks.append([tuple(int(v) for v in row[1:]) for row in rows if row[0] == 10])
    return blocks


@pytest.mark.parametrize(
    "grid", [(1, 1, 1), (3, 1, 1), (8, 1, 1), (9, 1, 1), (37, 1, 1), (3, 5, 2), (1, 16, 1), (1, 1, 7)]
)
@pytest.mark.parametrize("chip", ["bm1690", "sg2260e", "bm1684x"])
def test_every_block_is_done_once(grid, chip):
    func = run(SPREAD_BLOCKS, marking(grid), environment(chip=chip))
    per_core = blocks_of(func)
    done = sorted(block for blocks in per_core for block in blocks)
    gx, gy, gz = grid
    assert done == sorted((x, y, z) for x in range(gx) for y in range(gy) for z in range(gz))
    assert max(map(len, per_core)) - min(map(len, per_core)) <= 1
    assert len(per_core) == min(gx * gy * gz, {"bm1690": 8, "sg2260e": 4, "bm1684x": 1}[chip])


@pytest.mark.parametrize("size", [0, 1, 5, 8, 11, 16, 23])
def test_grids_that_are_known_at_launch(size):
    n = Var("n", "int32")
    func = run(SPREAD_BLOCKS, marking((n, 2, 1), [n]))
    assert int(func.attrs["tpu.cores"]) == 8
    done = sorted(b for blocks in blocks_of(func, {n: size}) for b in blocks)
    assert done == sorted((x, y, 0) for x in range(size) for y in range(2))


@pytest.mark.parametrize("grid", [(8, 8, 1), (64, 1, 1), (16, 8, 1), (32, 3, 1)])
def test_work_that_grows_along_x_ends_even(grid):
    per_core = blocks_of(run(SPREAD_BLOCKS, marking(grid)))
    work = [sum(x + 1 for x, _, _ in blocks) for blocks in per_core]
    assert max(work) <= 1.15 * sum(work) / len(work)


def test_cores_of_the_target_are_heeded():
    assert int(run(SPREAD_BLOCKS, marking((9, 1, 1)), environment(cores=3)).attrs["tpu.cores"]) == 3


def test_tables_are_loaded_once():
    table, a = local("exp_table"), local("a")
    x = tensor("x")
    func = made_kernel(
        (16, 1, 1),
        *alloc(table),
        do("load_table", tile(table), "exp"),
        *alloc(a),
        do("load", tile(a), piece(x, BX * 4096)),
        do("add", tile(a), tile(a), tile(table)),
        do("store", piece(x, BX * 4096), tile(a)),
        params=[x],
    )
    first = statements_of(run(SPREAD_BLOCKS, func).body)
    assert as_command(first[1]).instruction.name == "load_table"
    machine = Machine({"x": np.zeros(1 << 16)}, lanes=LANES)
    machine.run(run(SPREAD_BLOCKS, func).body)
    assert machine.commands.count("load_table") == 1
    assert machine.commands.count("load") == 2


# -- one core -----------------------------------------------------------------------------------------------------

X, Y = tensor("X"), tensor("Y")
A = local("a")


def outcome(*body, grid=(16, 1, 1), env=None):
    env = environment() if env is None else env
    func = run(SPREAD_BLOCKS, made_kernel(grid, *body, params=[X, Y]), env)
    return int(func.attrs["tpu.cores"]), "".join(row["order"] for row in env.report.get("blocks", ()))


def row_of_block(buffer, offset=0):
    return piece(buffer, BX * 4096 + offset)


def test_atomic_additions_keep_to_one_core():
    add = tile_call("atomic_element", [BufferLoad(X, [BX]), const(1.0, "float32"), "add", "relaxed"], dtype="float32")
    cores, why = outcome(Evaluate(add))
    assert cores == 1
    assert "atomically X" in why


def test_blocks_with_stores_of_the_control_core_run_on_one_core():
    cores, why = outcome(store(X, const(1.0, "float32"), [BX]))
    assert cores == 1
    assert "control core writes X" in why


def test_blocks_that_add_to_the_same_tile_run_on_one_core():
    """Split products, whose sums are loaded, increased and stored."""
    body = [
        *alloc(A),
        do("load", tile(A), row_of_block(X)),
        do("add", tile(A), tile(A), tile(A)),
        do("store", row_of_block(X), tile(A)),
    ]
    cores, why = outcome(*body, grid=(4, 1, 4))
    assert cores == 1
    assert "same elements of X" in why


def test_in_place_is_for_all_cores():
    body = [
        *alloc(A),
        do("load", tile(A), row_of_block(X)),
        do("add", tile(A), tile(A), tile(A)),
        do("store", row_of_block(X), tile(A)),
    ]
    assert outcome(*body) == (8, "on 8 cores, distributed cyclically")


def test_blocks_that_read_what_others_may_write_run_on_one_core():
    shifted = do("load", tile(A), piece(X, BX * 4096 + 4096))
    cores, why = outcome(*alloc(A), shifted, do("store", row_of_block(X), tile(A)))
    assert cores == 1
    assert "read elements of X that other blocks may write" in why


def test_aliases_are_the_tensor():
    view = tensor("view")
    alias = DeclBuffer(view, data=tirx.buffer_data(X))
    cores, why = outcome(
        alias, *alloc(A), do("load", tile(A), row_of_block(view)), do("store", row_of_block(X), tile(A))
    )
    assert cores == 1
    assert "read elements of X that other blocks may write" in why
    assert (
        outcome(alias, *alloc(A), do("load", tile(A), row_of_block(view)), do("store", row_of_block(Y), tile(A)))[0]
        == 8
    )


def test_a_workspace_of_each_block_allows_all_cores():
    """It is written in one loop, and read in another one with the same iterations."""
    i, j = Var("i", "int32"), Var("j", "int32")

    def at(var):
        return piece(X, (BX * 4 + var) * 1024, 16)

    write = loop("i", 4, do("store", at(i), tile(A, 16)), var=i)
    read = loop("j", 4, do("load", tile(A, 16), at(j)), do("store", piece(Y, BX * 4096), tile(A)), var=j)
    assert outcome(*alloc(A), write, read)[0] == 8
    other = loop("j", 3, do("load", tile(A, 16), at(j)), var=j)
    assert outcome(*alloc(A), write, other)[0] == 1


def test_places_may_hang_on_the_block_through_loops():
    var = Var("i", "int32")
    body = loop("i", 4, do("store", piece(X, var * 4096), tile(A)), var=var)
    assert outcome(*alloc(A), body)[0] == 1
    from tilecore.ir.nodes import For, ForKind

    body = For(var, BX * 4, const(4, "int32"), ForKind.SERIAL, do("store", piece(X, var * 4096), tile(A)))
    assert outcome(*alloc(A), body)[0] == 8


def test_blocks_on_one_core_run_with_x_fastest():
    marks = tensor("order")
    increment = tirx.const(1, "int32")
    number = BufferLoad(marks, [const(0, "int32")])
    body = [
        store(marks, number + tirx.Cast("float32", increment), [const(0, "int32")]),
        store(marks, number, [const(1, "int32") + BX + BY * 3]),
    ]
    func = run(SPREAD_BLOCKS, made_kernel((3, 2, 1), *body, params=[marks]))
    memory = {"order": np.zeros(64)}
    Machine(memory).run(func.body)
    assert list(memory["order"][1:7]) == [1, 2, 3, 4, 5, 6]
