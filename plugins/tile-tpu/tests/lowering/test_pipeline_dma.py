"""Pipelines of DMA and tensor unit: the same results in any order of the engines, and the commands expected."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import alloc, do, element, environment, kernel, local, loop, piece, run, set_element, tensor, tile
from core_model import Machine
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tile_tpu.chips import BM1690
from tile_tpu.ir.touches import touches_of
from tile_tpu.lowering.order_engines import ORDER_ENGINES
from tile_tpu.lowering.pipeline_dma import PIPELINE_DMA
from tile_tpu.lowering.plan_local import PLAN_LOCAL

from tilecore.ir.build import const, seq, store
from tilecore.ir.nodes import AllocBuffer, Bind, BufferLoad, DeclBuffer, Evaluate, For, IfThenElse, Var, tirx
from tilecore.ir.visit import collect

X, Y, Z = tensor("X"), tensor("Y"), tensor("Z")
A, B, C, D = (local(n) for n in "abcd")
K = Var("k", "int32")
TILE = 4096
ZERO = const(0.0, "float32")


def at(tensor_, step, rows=64):
    return piece(tensor_, step * TILE, rows)


def pipelined(*body, extent=6, notes=None, var=K):
    return loop("k", extent, *body, notes={"num_stages": 2} if notes is None else notes, var=var)


def results(func, order=("tensor unit", "dma"), strict=False, values=()):
    rng = np.random.default_rng(3)
    memory = {n: rng.uniform(size=1 << 16) for n in "XYZ"}
    machine = Machine(memory, order=order, strict=strict)
    machine.values.update(values)
    with np.errstate(all="ignore"):
        machine.run(func.body)
    return memory, machine


def check(func, env=None, values=()):
    """Runs before and after, with either engine first; the pipelined kernel and its machine."""
    env = environment() if env is None else env
    wanted, _ = results(func, values=values)
    made = run(PIPELINE_DMA, func, env)
    last = None
    for order in (("tensor unit", "dma"), ("dma", "tensor unit")):
        found, last = results(made, order, values=values)
        for name in wanted:
            assert np.array_equal(wanted[name], found[name], equal_nan=True), name
    ready = run(ORDER_ENGINES, run(PLAN_LOCAL, made, env), env)
    found, _ = results(ready, strict=True, values=values)
    for name in wanted:
        assert np.array_equal(wanted[name], found[name], equal_nan=True), name
    return made, last, env


def product(*, total=C):
    return [
        do("load", tile(A), at(X, K)),
        do("load", tile(B), at(Y, K)),
        do("mm", tile(total), tile(A), tile(B), const(1, "bool")),
    ]


def summed(*step, tiles=(A, C), params=(X, Y, Z), **options):
    """A loop that adds to C, which is cleared before and stored after it."""
    clear, keep = do("fill", tile(C), ZERO), do("store", at(Z, 0), tile(C))
    return kernel(list(params), *alloc(*tiles), clear, pipelined(*step, **options), keep)


def matmul(extent=6, **options):
    return summed(*product(), tiles=(A, B, C), extent=extent, **options)


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
    made = pipelined(*product())
    later = For(K, const(3, "int32"), const(5, "int32"), made.kind, made.body, annotations={"num_stages": 3})
    func = kernel([X, Y, Z], *alloc(A, B, C), do("fill", tile(C), ZERO), later, do("store", at(Z, 0), tile(C)))
    assert check(func)[1].overlapped == 4


def test_slots_are_aligned_and_in_banks_of_their_own():
    made = run(PIPELINE_DMA, matmul())
    sizes = {str(n.buffer.name): int(n.buffer.shape[0]) for n in collect(made.body, AllocBuffer)}
    assert sizes == {"a": 2 * BM1690.bank_bytes // 4, "b": 2 * BM1690.bank_bytes // 4, "c": 64}
    for node in collect(made.body, Evaluate):
        for touch in touches_of(node):
            assert touch.view is None or not touch.is_local or touch.view.is_aligned(64, 16)


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
    assert "filled for the next step" in env.report["notes"][0]["text"]


def test_conditions_around_a_step():
    wanted = tirx.LT(K, const(4, "int32"))
    body = [IfThenElse(wanted, seq(product()), None)]
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
    made, machine, _ = check(kernel([X, Y, Z], *alloc(A, B), pipelined(*body)))
    assert machine.overlapped == 6
    loops = [n.loop_var for n in collect(made.body, For)]
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
    """Pages: the control core reads where a tile lies, a step ahead."""
    table = tensor("T", 64, "int32")
    page = Var("page", "int32")
    body = [
        Bind(page, BufferLoad(table, [K])),
        do("load", tile(A), at(X, page)),
        do("mul", tile(B), tile(A), tile(A)),
        do("store", at(Z, K), tile(B)),
    ]
    func = kernel([X, Y, Z, table], *alloc(A, B), pipelined(*body))
    made = run(PIPELINE_DMA, func)
    rng = np.random.default_rng(0)
    memory = {n: rng.uniform(size=1 << 16) for n in "XYZ"} | {"T": rng.permutation(16)[:8].astype(int)}
    other = {name: array.copy() for name, array in memory.items()}
    assert Machine(memory).run(made.body).overlapped == 6
    Machine(other).run(func.body)
    assert np.array_equal(memory["Z"], other["Z"])


def test_two_products_with_a_store_between_and_a_sum():
    """Shape of attention: two loads ahead, statistics that go from step to step."""
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


# -- what stays ---------------------------------------------------------------------------------------------------


def refused(*body, around=(), after=(), buffers=(A, B, C, D)):
    func = kernel([X, Y, Z], *alloc(*buffers), *around, pipelined(*body), *after)
    _, machine, env = check(func)
    return machine, "\n".join(row["text"] for row in env.report.get("notes", ()))


def test_a_tile_that_the_loop_changes_in_memory_is_not_read_ahead():
    body = [do("load", tile(A), at(Z, K)), do("mul", tile(B), tile(A), tile(A)), do("store", at(Z, K + 1), tile(B))]
    machine, text = refused(*body)
    assert not machine.overlapped
    assert "it reads Z, which the loop changes" in text


def test_aliases_of_a_tensor_are_the_tensor():
    view = tensor("view")
    body = [do("load", tile(A), at(view, K)), do("mul", tile(B), tile(A), tile(A)), do("store", at(Z, K), tile(B))]
    func = kernel([X, Y, Z], DeclBuffer(view, data=tirx.buffer_data(Z)), *alloc(A, B), pipelined(*body))
    env = environment()
    run(PIPELINE_DMA, func, env)
    assert "it reads Z, which the loop changes" in env.report["notes"][0]["text"]


def test_a_tile_that_keeps_values_stays():
    rows = tirx.Min(const(64, "int32"), const(100, "int32") - K * 16)
    body = [
        do("load", tile(A, rows), at(X, K, rows)),
        do("add", tile(B), tile(A), tile(A)),
        do("store", at(Z, K), tile(B)),
    ]
    machine, text = refused(*body, around=[do("fill", tile(A), ZERO)])
    assert machine.overlapped  # the stores still go behind
    assert "this copy waits for the tensor unit: a is used outside of the loop" in text


def test_a_tile_that_is_used_before_its_load_stays():
    body = [do("add", tile(B), tile(A), tile(A)), do("load", tile(A), at(X, K)), do("store", at(Z, K), tile(B))]
    _, text = refused(*body)
    assert "a is in use before it in the step" in text


def test_a_tile_that_is_written_before_its_load_stays():
    work = do("add", tile(B), tile(A), tile(A))
    body = [do("load", tile(C), at(Y, K)), do("mul", tile(A), tile(C), tile(C)), do("load", tile(A, 16), at(X, K, 16))]
    _, text = refused(*body, work, do("store", at(Z, K), tile(B)))
    assert "a is in use before it in the step" in text


def test_a_fill_after_the_load_stays_after_it():
    body = [do("load", tile(A), at(X, K)), do("fill", tile(A, 16), ZERO), do("add", tile(B), tile(A), tile(A))]
    machine, _ = refused(*body, do("store", at(Z, K), tile(B)))
    assert machine.overlapped == 6


def test_rows_that_a_step_leaves_as_they_were_stay():
    """Loaded whole in the first step, its first rows in each."""
    first = IfThenElse(tirx.EQ(K, const(0, "int32")), do("load", tile(A), at(Y, 0)), None)
    body = [first, do("load", tile(A, 16), at(X, K, 16)), do("add", tile(B), tile(A), tile(A))]
    machine, text = refused(*body, do("store", at(Z, K), tile(B)))
    assert machine.overlapped == 5  # the stores of the step before
    assert "a keeps values from step to step" in text


def test_places_that_the_step_works_out_stay():
    spot = tirx.decl_buffer([1], "int32", "spot", scope="local.var", layout=None)
    body = [
        store(spot, K + 1, [const(0, "int32")]),
        do("load", tile(A), at(X, K)),
        do("mul", tile(B), tile(A), tile(A)),
        do("store", at(Z, BufferLoad(spot, [const(0, "int32")])), tile(B)),
    ]
    func = kernel([X, Y, Z], AllocBuffer(spot), *alloc(A, B), pipelined(*body))
    _, machine, env = check(func)
    assert machine.overlapped == 5
    assert "what the step works out" in env.report["notes"][0]["text"]


def test_elements_that_the_control_core_reads_split_the_step():
    body = [
        do("load", tile(A), at(X, K)),
        do("mul", tile(B), tile(A), tile(A)),
        set_element(D, element(B, 3, 3), 5, 5),
        do("mul", tile(C), tile(B), tile(D)),
        do("store", at(Z, K), tile(C)),
    ]
    machine, _ = refused(*body, around=[do("fill", tile(D), ZERO)])
    assert machine.overlapped == 6


def test_nothing_to_do_meanwhile():
    machine, text = refused(do("load", tile(A), at(X, K)), do("store", at(Z, K), tile(A)))
    assert not machine.overlapped
    assert "nothing to do meanwhile" in text


def test_no_stages_no_pipeline():
    func = matmul(notes={})
    _, machine, env = check(func)
    assert not machine.overlapped
    assert not env.report.get("notes")


def test_what_does_not_fit_stays_single():
    big = BM1690.lane_bytes // 4 // 2 + 1024
    a = local("a", big)
    wide = (1, 64, 1, big)
    src = piece(X, 0).with_shape(*wide)
    body = [do("load", tile(a).with_shape(*wide), src), do("add", tile(C), tile(C), tile(a))]
    func = kernel([X, Y, Z], *alloc(a, C), do("fill", tile(C), ZERO), pipelined(*body), do("store", at(Z, 0), tile(C)))
    env = environment()
    made = run(PIPELINE_DMA, func, env)
    assert not [n for n in collect(made.body, Evaluate) if "parallel" in str(n)]
    assert "does not fit into local memory" in env.report["notes"][0]["text"]


def test_loops_in_pipelines_and_pipelines_in_loops():
    j = Var("j", "int32")
    inner = pipelined(*product(), extent=3)
    body = [do("fill", tile(C), ZERO), inner, do("store", at(Z, j), tile(C))]
    func = kernel([X, Y, Z], *alloc(A, B, C), loop("j", 4, *body, var=j, notes={"num_stages": 2}))
    _, machine, _ = check(func)
    assert machine.overlapped >= 8


# -- random loops -------------------------------------------------------------------------------------------------

TILES = [local(n, 16) for n in "abcd"]


def small(buffer, rows=8):
    return tile(buffer, rows, 8)


def spot_of(tensor_, step, rows=8):
    return piece(tensor_, step * 64, rows, 8)


@st.composite
def commands(draw, tiles, kinds):
    """One command on some of the tiles."""
    kind = draw(st.sampled_from(kinds))
    a, b, c = (draw(st.sampled_from(tiles)) for _ in range(3))
    rows = draw(st.sampled_from([8, 8, 8, 5]))
    step = K + draw(st.sampled_from([0, 0, 0, 1]))
    if kind == "load":
        return do("load", small(a, rows), spot_of(draw(st.sampled_from([X, X, Y, Z])), step, rows))
    if kind == "store":
        return do("store", spot_of(draw(st.sampled_from([Y, Z, Z])), step, rows), small(a, rows))
    if kind == "fill":
        return do("fill", small(a, rows), const(0.5, "float32"))
    if kind == "shift":
        return do("shift", small(a), small(b))
    if kind == "element":
        return set_element(a, element(b, 3, 4), 5, 6)
    if kind == "if":
        condition = tirx.LT(K, const(draw(st.integers(1, 3)), "int32"))
        inner = [draw(commands(tiles, [k for k in kinds if k != "if"])) for _ in range(draw(st.integers(1, 3)))]
        return IfThenElse(condition, seq(inner), None)
    if kind == "mm":
        return do("mm", small(a), small(b), small(c), const(draw(st.integers(0, 1)), "bool"))
    return do(kind, small(a), small(b), small(c))


ALL = ["load", "store", "mul", "add", "mm", "fill", "shift", "if", "element"]


@st.composite
def steps(draw):
    """Loads, work, stores, as kernels have them, with something else put in or taken out."""
    loaded, worked = TILES[:2], TILES[2:]
    body = [do("fill", small(t), ZERO) for t in loaded if draw(st.booleans())]
    body += [do("load", small(t), spot_of(X, K)) for t in loaded]
    body += [do("add", small(worked[0]), small(loaded[0]), small(loaded[1]))]
    body += draw(st.lists(commands(TILES, ["add", "mul", "mm"]), max_size=3))
    body += [do("store", spot_of(Z, K), small(draw(st.sampled_from(worked + loaded))))]
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(body)))
        if draw(st.booleans()):
            body.insert(place, draw(commands(TILES, ALL)))
        else:
            del body[place : place + 1]
    return body


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps(), st.lists(st.sampled_from(TILES), max_size=1), st.sampled_from(["", "", "a", "c"]), st.integers(1, 4))
def test_random_loops_give_the_same(body, before, after, extent):
    func = kernel(
        [X, Y, Z],
        *alloc(*TILES),
        *(do("load", small(t), spot_of(Y, 9)) for t in before),
        pipelined(*body, extent=extent),
        *(do("store", spot_of(Y, 9), small(t)) for t in TILES if str(t.name) == after),
    )
    _, machine, _ = check(func)
    event(f"overlapped: {machine.overlapped > 0}")
