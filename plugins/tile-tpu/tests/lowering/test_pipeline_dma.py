"""Pipelines of DMA and tensor unit: the results are the same in any order of the engines, and the commands are as
expected."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import ANY_BANK, alloc, do, environment, kernel, loop, piece, run, tensor, tile
from core_model import Machine
from pipelines import TILE, ZERO, A, B, C, D, K, X, Y, Z, at, check, matmul, pipelined, product
from tile_tpu.chips import BM1690
from tile_tpu.ir.accesses import accesses_of
from tile_tpu.lowering.passes.pipeline_dma import PIPELINE_DMA

from tilecore.ir.build import const, seq
from tilecore.ir.nodes import AllocBuffer, Bind, BufferLoad, Evaluate, For, IfThenElse, Var, tirx
from tilecore.ir.visit import collect


@pytest.mark.parametrize("extent", [0, 1, 2, 3, 6])
def test_a_product_is_done_beside_the_next_loads(extent):
    _, machine, env = check(matmul(extent))
    assert machine.overlapped == max(0, extent - 1)
    assert env.report["pipelines"] == [{"tiles": "a, b", "stages": 2}]


def test_the_number_of_steps_may_be_known_at_launch():
    n = Var("n", "int32")
    func = kernel(
        [X, Y, Z, n],
        *alloc(A, B, C),
        do("fill", tile(C), ZERO),
        pipelined(*product(), extent=n),
        do("store", at(Z, 0), tile(C)),
    )
    for size in (0, 1, 2, 5):
        assert check(func, values={n: size})[1].overlapped == max(0, size - 1)


def test_loops_that_begin_elsewhere():
    pipelined_loop = pipelined(*product())
    later = For(
        K, const(3, "int32"), const(5, "int32"), pipelined_loop.kind, pipelined_loop.body, annotations={"num_stages": 3}
    )
    func = kernel([X, Y, Z], *alloc(A, B, C), do("fill", tile(C), ZERO), later, do("store", at(Z, 0), tile(C)))
    assert check(func)[1].overlapped == 4


def test_slots_are_aligned_and_in_different_banks():
    func = run(PIPELINE_DMA, matmul())
    sizes = {str(n.buffer.name): int(n.buffer.shape[0]) for n in collect(func.body, AllocBuffer)}
    assert sizes == {"a": 2 * BM1690.bank_bytes // 4, "b": 2 * BM1690.bank_bytes // 4, "c": 64}
    for node in collect(func.body, Evaluate):
        for access in accesses_of(node):
            assert access.view is None or not access.is_local or access.view.is_aligned(64, 16)


def test_slots_need_no_banks_where_the_plan_leaves_them_out():
    func = run(PIPELINE_DMA, matmul(), environment(ANY_BANK))
    sizes = {str(n.buffer.name): int(n.buffer.shape[0]) for n in collect(func.body, AllocBuffer)}
    assert sizes == {"a": 128, "b": 128, "c": 64}


def test_results_are_stored_a_step_behind():
    body = [do("load", tile(A), at(X, K)), do("mul", tile(B), tile(A), tile(A)), do("store", at(Z, K), tile(B))]
    func = kernel([X, Y, Z], *alloc(A, B), pipelined(*body))
    _, machine, env = check(func)
    assert machine.overlapped == 6
    assert env.report["pipelines"] == [{"tiles": "a, b", "stages": 2}]
    assert "notes" not in env.report


def test_in_place_on_the_tile():
    body = [do("load", tile(A), at(X, K)), do("mul", tile(A), tile(A), tile(A)), do("store", at(Z, K), tile(A))]
    assert check(kernel([X, Y, Z], *alloc(A), pipelined(*body)))[1].overlapped == 6


def test_tiles_may_be_allocated_in_the_loop():
    body = [
        *alloc(A, B),
        do("load", tile(A), at(X, K)),
        do("mul", tile(B), tile(A), tile(A)),
        do("store", at(Z, K), tile(B)),
    ]
    assert check(kernel([X, Y, Z], pipelined(*body)))[1].overlapped == 6


def tail(step):
    return tirx.Min(const(64, "int32"), const(200, "int32") - step * 64)


def test_tails_are_filled_before_the_region():
    body = [
        do("fill", tile(A), ZERO),
        do("load", tile(A, tail(K)), at(X, K, tail(K))),
        do("add", tile(C), tile(C), tile(A)),
    ]
    func = kernel(
        [X, Y, Z], *alloc(A, C), do("fill", tile(C), ZERO), pipelined(*body, extent=4), do("store", at(Z, 0), tile(C))
    )
    _, machine, _ = check(func)
    assert machine.overlapped == 3
    inside = False
    for word in machine.commands:
        inside = (inside or word == "parallel_start") and word != "parallel_end"
        assert not (inside and word == "fill")


def test_fills_of_tails_alone_may_be_conditional():
    short = IfThenElse(tail(K) < const(64, "int32"), do("fill", tile(A), ZERO), None)
    body = [short, do("load", tile(A, tail(K)), at(X, K, tail(K))), do("add", tile(C), tile(C), tile(A))]
    func = kernel(
        [X, Y, Z], *alloc(A, C), do("fill", tile(C), ZERO), pipelined(*body, extent=4), do("store", at(Z, 0), tile(C))
    )
    check(func)


def test_a_filled_tile_that_is_stored_is_stored_in_its_step():
    body = [
        do("fill", tile(A), ZERO),
        do("load", tile(A, tail(K)), at(X, K, tail(K))),
        do("mul", tile(A), tile(A), tile(A)),
        do("store", at(Z, K), tile(A)),
    ]
    _, machine, env = check(kernel([X, Y, Z], *alloc(A), pipelined(*body, extent=4)))
    assert machine.overlapped == 3
    assert "loaded for the next iteration" in env.report["notes"][0]["text"]


def test_conditions_around_a_step():
    condition = tirx.LT(K, const(4, "int32"))
    body = [IfThenElse(condition, seq(product()), None)]
    func = kernel(
        [X, Y, Z], *alloc(A, B, C), do("fill", tile(C), ZERO), pipelined(*body), do("store", at(Z, 0), tile(C))
    )
    _, machine, _ = check(func)
    assert machine.overlapped == 3
    assert machine.commands.count("mm") == 4


def test_both_branches():
    even = tirx.EQ(tirx.Mod(K, const(2, "int32")), const(0, "int32"))
    choice = IfThenElse(even, do("load", tile(A), at(X, K)), do("load", tile(A), at(Y, K)))
    body = [choice, do("mul", tile(B), tile(A), tile(A)), do("store", at(Z, K), tile(B))]
    check(kernel([X, Y, Z], *alloc(A, B), pipelined(*body)))


def test_loops_of_loads_move_whole():
    i = Var("i", "int32")
    rows = loop("i", 4, do("load", tile(A, 16, offset=0), piece(X, K * TILE + i * 64, 16)), var=i)
    body = [rows, do("mul", tile(B, 16), tile(A, 16), tile(A, 16)), do("store", at(Z, K, 16), tile(B, 16))]
    func, machine, _ = check(kernel([X, Y, Z], *alloc(A, B), pipelined(*body)))
    assert machine.overlapped == 6
    loops = [n.loop_var for n in collect(func.body, For)]
    assert len(loops) == len(set(loops))


def test_variables_of_a_step():
    base = Var("base", "int32")
    body = [
        Bind(base, tirx.Mod(K * 5, const(7, "int32"))),
        do("load", tile(A), at(X, base)),
        do("mul", tile(B), tile(A), tile(A)),
        do("store", at(Z, base), tile(B)),
    ]
    assert check(kernel([X, Y, Z], *alloc(A, B), pipelined(*body)))[1].overlapped == 6


def test_rows_that_a_table_names():
    """Paged loads: the control core reads the address of a tile one iteration ahead."""
    table = tensor("T", 64, "int32")
    page = Var("page", "int32")
    body = [
        Bind(page, BufferLoad(table, [K])),
        do("load", tile(A), at(X, page)),
        do("mul", tile(B), tile(A), tile(A)),
        do("store", at(Z, K), tile(B)),
    ]
    func = kernel([X, Y, Z, table], *alloc(A, B), pipelined(*body))
    pipelined_func = run(PIPELINE_DMA, func)
    rng = np.random.default_rng(0)
    memory = {n: rng.uniform(size=1 << 16) for n in "XYZ"} | {"T": rng.permutation(16)[:8].astype(int)}
    other = {name: array.copy() for name, array in memory.items()}
    assert Machine(memory).run(pipelined_func.body).overlapped == 6
    Machine(other).run(func.body)
    assert np.array_equal(memory["Z"], other["Z"])


def test_two_products_with_a_store_between_and_a_sum():
    """The structure of attention: two loads ahead, and loop-carried statistics."""
    body = [
        do("load", tile(A), at(X, K)),
        do("mm", tile(B), tile(D), tile(A), const(0, "bool")),
        do("load", tile(C), at(Y, K)),
        do("mul", tile(D), tile(B), tile(D)),
        do("add", tile(D), tile(D), tile(C)),
    ]
    func = kernel(
        [X, Y, Z], *alloc(A, B, C, D), do("load", tile(D), at(Z, 1)), pipelined(*body), do("store", at(Z, 0), tile(D))
    )
    _, machine, env = check(func)
    assert machine.overlapped == 5
    assert env.report["pipelines"][0]["tiles"] == "a, c"
