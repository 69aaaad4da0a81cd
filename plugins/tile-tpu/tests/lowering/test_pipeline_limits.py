"""Loops that are not pipelined, or only in part: the results are the same, and explain() has the reason."""

from __future__ import annotations

from by_hand import alloc, do, element, environment, kernel, local, loop, piece, run, set_element, tensor, tile
from pipelines import ZERO, A, B, C, D, K, X, Y, Z, at, check, matmul, pipelined, product
from tile_tpu.chips import BM1690
from tile_tpu.lowering.passes.pipeline_dma import PIPELINE_DMA

from tilecore.ir.build import const, store
from tilecore.ir.nodes import AllocBuffer, BufferLoad, DeclBuffer, Evaluate, IfThenElse, Var, tirx
from tilecore.ir.visit import collect


def refused(*body, around=(), after=(), buffers=(A, B, C, D)):
    func = kernel([X, Y, Z], *alloc(*buffers), *around, pipelined(*body), *after)
    _, machine, env = check(func)
    return machine, "\n".join(row["text"] for row in env.report.get("notes", ()))


def test_a_tile_that_the_loop_changes_in_memory_is_not_read_ahead():
    body = [do("load", tile(A), at(Z, K)), do("mul", tile(B), tile(A), tile(A)), do("store", at(Z, K + 1), tile(B))]
    machine, text = refused(*body)
    assert not machine.overlapped
    assert "it reads Z, which the loop writes" in text


def test_aliases_of_a_tensor_are_the_tensor():
    view = tensor("view")
    body = [do("load", tile(A), at(view, K)), do("mul", tile(B), tile(A), tile(A)), do("store", at(Z, K), tile(B))]
    func = kernel([X, Y, Z], DeclBuffer(view, data=tirx.buffer_data(Z)), *alloc(A, B), pipelined(*body))
    env = environment()
    run(PIPELINE_DMA, func, env)
    assert "it reads Z, which the loop writes" in env.report["notes"][0]["text"]


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
    assert "a is used before it in the iteration" in text


def test_a_tile_that_is_written_before_its_load_stays():
    work = do("add", tile(B), tile(A), tile(A))
    body = [do("load", tile(C), at(Y, K)), do("mul", tile(A), tile(C), tile(C)), do("load", tile(A, 16), at(X, K, 16))]
    _, text = refused(*body, work, do("store", at(Z, K), tile(B)))
    assert "a is used before it in the iteration" in text


def test_a_fill_after_the_load_stays_after_it():
    body = [do("load", tile(A), at(X, K)), do("fill", tile(A, 16), ZERO), do("add", tile(B), tile(A), tile(A))]
    machine, _ = refused(*body, do("store", at(Z, K), tile(B)))
    assert machine.overlapped == 6


def test_rows_that_a_step_leaves_as_they_were_stay():
    """The first iteration loads the whole tile, the others its first rows."""
    first = IfThenElse(tirx.EQ(K, const(0, "int32")), do("load", tile(A), at(Y, 0)), None)
    body = [first, do("load", tile(A, 16), at(X, K, 16)), do("add", tile(B), tile(A), tile(A))]
    machine, text = refused(*body, do("store", at(Z, K), tile(B)))
    assert machine.overlapped == 5  # the stores of the step before
    assert "a has a loop-carried dependence" in text


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
    assert "values that the iteration computes" in env.report["notes"][0]["text"]


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
    assert "no work beside the copies" in text


def test_no_stages_no_pipeline():
    func = matmul(notes={})
    _, machine, env = check(func)
    assert not machine.overlapped
    assert not env.report.get("notes")


def test_loops_whose_slots_do_not_fit_are_not_pipelined():
    big = BM1690.lane_bytes // 4 // 2 + 1024
    a = local("a", big)
    wide = (1, 64, 1, big)
    src = piece(X, 0).with_shape(*wide)
    body = [do("load", tile(a).with_shape(*wide), src), do("add", tile(C), tile(C), tile(a))]
    func = kernel([X, Y, Z], *alloc(a, C), do("fill", tile(C), ZERO), pipelined(*body), do("store", at(Z, 0), tile(C)))
    env = environment()
    pipelined_func = run(PIPELINE_DMA, func, env)
    assert not [n for n in collect(pipelined_func.body, Evaluate) if "parallel" in str(n)]
    assert "do not fit into local memory" in env.report["notes"][0]["text"]


def test_loops_in_pipelines_and_pipelines_in_loops():
    j = Var("j", "int32")
    inner = pipelined(*product(), extent=3)
    body = [do("fill", tile(C), ZERO), inner, do("store", at(Z, j), tile(C))]
    func = kernel([X, Y, Z], *alloc(A, B, C), loop("j", 4, *body, var=j, notes={"num_stages": 2}))
    _, machine, _ = check(func)
    assert machine.overlapped >= 8
