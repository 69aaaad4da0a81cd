"""Software pipelines: slots, what runs ahead, the barriers they need, and that results stay."""

import numpy as np
import pytest

import tilecore.language as T
from tilecore.ir.nodes import AllocBuffer, For
from tilecore.ir.visit import collect

from .kit import calls, lowered, same_results


def product(stages, k=96, block_k=16, steps=None):
    m, n = 32, 48

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float32"), B: T.Tensor((k, n), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((m, block_k), "float32"), T.alloc_shared((block_k, n), "float32")
            c = T.alloc_fragment((m, n), "float32")
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(k, block_k) if steps is None else steps, num_stages=stages):
                T.copy(A[0, i * block_k], a)
                T.copy(B[i * block_k, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return kernel


def inputs(k=96):
    rng = np.random.default_rng(0)
    return rng.random((32, k), np.float32), rng.random((k, 48), np.float32), np.zeros((32, 48), np.float32)


@pytest.mark.parametrize("stages", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("k", [16, 32, 90, 96])
def test_results_stay(stages, k):
    *_, c = same_results(product(stages, k), *inputs(k), close=True)
    a, b, _ = inputs(k)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_one_slot_a_stage_and_one_barrier_a_step(stages):
    after, env = lowered(product(stages), "insert_barriers")
    tiles = [a.buffer for a in collect(after.body, AllocBuffer) if str(a.buffer.scope()).startswith("shared")]
    assert sorted(int(t.shape[0]) for t in tiles) == [stages, stages]
    loop = next(f for f in collect(after.body, For) if "tile.loop" in f.annotations)
    assert len(calls(loop.body, "tile.sync_threads")) == 1
    assert len(calls(loop.body, "simt.wait_async")) == len(calls(loop.body, "simt.commit_async")) == 1
    assert int(calls(loop.body, "simt.wait_async")[0].value.args[0]) == stages - 2
    assert env.report["pipelines"] == [{"tiles": "a, b", "stages": stages}]


def test_without_stages_two_barriers_a_step():
    after, _ = lowered(product(1), "insert_barriers")
    loop = next(f for f in collect(after.body, For) if "tile.loop" in f.annotations)
    assert len(calls(loop.body, "tile.sync_threads")) == 2  # before the copies overwrite, before the product reads


def test_what_the_loop_itself_writes_does_not_run_ahead():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((16,), "float32")
            for i in T.Pipelined(3, num_stages=2):
                T.copy(X[i * 16], s)
                for j in T.Parallel(16):
                    X[i * 16 + 16 + j] = s[j] + 1
            T.copy(X, Y)

    _, env = lowered(kernel, "insert_barriers")
    assert "pipelines" not in env.report
    same_results(kernel, np.arange(64, dtype=np.float32), np.zeros(64, np.float32))


def test_a_tile_read_after_the_loop_stays_one():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=32):
            s, f = T.alloc_shared((16,), "float32"), T.alloc_fragment((16,), "float32")
            T.clear(f)
            for i in T.Pipelined(4, num_stages=2):
                T.copy(X[i * 16], s)
                for j in T.Parallel(16):
                    f[j] = f[j] + s[j]
            for j in T.Parallel(16):
                Y[j] = f[j] * s[j]

    _, env = lowered(kernel, "insert_barriers")
    assert "pipelines" not in env.report
    same_results(kernel, np.arange(64, dtype=np.float32), np.zeros(16, np.float32))


@pytest.mark.parametrize("form", ["direct", "named", "guarded"])
def test_a_place_read_from_a_tensor_runs_ahead(form):
    """As of a cache in pages."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 16), "float32"), Table: T.Tensor((6,), "int32"), Y: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=32):
            s, f = T.alloc_shared((16,), "float32"), T.alloc_fragment((16,), "float32")
            T.clear(f)
            for i in T.Pipelined(6, num_stages=3):
                if form == "direct":
                    T.copy(X[Table[i], :], s)
                else:
                    page = Table[i] if form == "named" else T.if_then_else(i < 5, Table[i], 7)
                    T.copy(X[page, :], s)
                for j in T.Parallel(16):
                    f[j] = f[j] * 2 + s[j]
            T.copy(f, Y)

    _, env = lowered(kernel, "insert_barriers")
    assert env.report["pipelines"] == [{"tiles": "s", "stages": 3}]
    x = np.random.default_rng(0).random((8, 16), np.float32)
    same_results(kernel, x, np.array([3, 0, 7, 3, 1, 6], np.int32), np.zeros(16, np.float32))


@pytest.mark.parametrize("memory", ["variable", "tensor"])
def test_a_place_that_the_loop_itself_changes_does_not_run_ahead(memory):
    @T.prim_func
    def kernel(X: T.Tensor((8, 16), "float32"), Next: T.Tensor((8,), "int32"), Y: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=32):
            s, f = T.alloc_shared((16,), "float32"), T.alloc_fragment((16,), "float32")
            at = T.alloc_var("int32", init=2)
            T.clear(f)
            for i in T.Pipelined(4, num_stages=2):
                if memory == "variable":
                    T.copy(X[at, :], s)
                    at = Next[at]
                else:
                    page = Next[i]
                    T.copy(X[page, :], s)
                    for j in T.Parallel(1):
                        Next[i + 1 + j] = (Next[i] + 3) % 8
                for j in T.Parallel(16):
                    f[j] = f[j] * 2 + s[j]
            T.copy(f, Y)

    _, env = lowered(kernel, "insert_barriers")
    assert "pipelines" not in env.report
    x = np.random.default_rng(0).random((8, 16), np.float32)
    same_results(kernel, x, np.array([3, 0, 7, 4, 1, 2, 5, 6], np.int32), np.zeros(16, np.float32))
