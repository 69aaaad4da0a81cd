"""Which thread does what: layouts that follow from one another, copies, fragments that end in shared memory."""

import numpy as np
import pytest

import tilecore.language as T
from tilecore.ir.build import op_name
from tilecore.ir.nodes import AllocBuffer, BufferStore, Call, Ramp
from tilecore.ir.visit import collect

from .kit import lowered, same_results


def layouts(func):
    _, env = lowered(func, "bind_threads")
    return {entry["buffer"]: entry["layout"] for entry in env.report.get("layouts", [])}


def rows(m, n, threads, dtype="float32"):
    @T.prim_func
    def kernel(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype), S: T.Tensor((m,), "float32")):
        with T.Kernel(1, threads=threads):
            row, total = T.alloc_fragment((m, n), "float32"), T.alloc_fragment((m,), "float32")
            T.copy(X, row)
            T.reduce_sum(row, total, dim=1)
            for i, j in T.Parallel(m, n):
                row[i, j] = row[i, j] / total[i]
            T.copy(row, Y)
            T.copy(total, S)

    return kernel


@pytest.mark.parametrize("threads", [32, 64, 96, 128])
@pytest.mark.parametrize("shape", [(4, 128), (1, 1000), (64, 8), (3, 5), (7, 33), (1, 1)], ids=str)
def test_reductions_follow_their_source(shape, threads):
    kernel = rows(*shape, threads)
    found = layouts(kernel)
    assert "shared memory" not in " ".join(found.values())
    rng = np.random.default_rng(0)
    x = rng.random(shape, np.float32) + 0.5
    same_results(kernel, x, np.zeros(shape, np.float32), np.zeros(shape[0], np.float32), close=True)


def test_a_warp_for_a_row_needs_no_shared_memory():
    made, _ = lowered(rows(4, 128, 128))
    body = next(iter(made.functions.values())).body
    assert not [a for a in collect(body, AllocBuffer) if str(a.buffer.scope()).startswith("shared")]
    assert {op_name(c) for c in collect(body, Call)} >= {"simt.shuffle"}


def test_neighbours_move_together():
    made, _ = lowered(rows(4, 512, 128, "float16"))
    body = next(iter(made.functions.values())).body
    wide = {
        str(s.buffer.name): int(s.indices[0].lanes)
        for s in collect(body, BufferStore)
        if isinstance(s.indices[0], Ramp)
    }
    assert wide["Y"] == 8
    assert wide["X_v"] == 8


def test_elements_taken_in_another_order_go_through_shared_memory():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            f = T.alloc_fragment((64,), "float32")
            T.copy(X, f)
            for i in T.Parallel(64):
                Y[i] = f[63 - i]

    assert "one by one" in layouts(kernel)["f"]
    same_results(kernel, np.arange(64, dtype=np.float32), np.zeros(64, np.float32))


def test_atomics_of_copies_happen_once():
    @T.prim_func
    def kernel(X: T.Tensor((5,), "int32"), Y: T.Tensor((1,), "int32"), P: T.Tensor((5,), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(5):
                P[i] = T.atomic_add(Y[0], X[i], return_prev=True)

    same = lowered(kernel, "bind_threads")[0].script()
    assert "tx" in same
    y, p = np.zeros(1, np.int32), np.zeros(5, np.int32)
    from tilecore.interpreter import interpret

    from .kit import thread_code

    interpret(thread_code(kernel), np.arange(5, dtype=np.int32), y, p)
    assert y[0] == 10


def test_sizes_known_at_run_time():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(n):
                Y[i] = X[i] + 1

    for size in (1, 63, 64, 200):
        same_results(kernel, np.arange(size, dtype=np.float32), np.zeros(size, np.float32))
