"""insert_barriers: barriers where a thread reads or overwrites what another wrote or read, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.ir.build import constant, op_name
from tilecore.ir.nodes import AttrStmt, Evaluate, For, ForKind
from tilecore.ir.thread_ranges import range_of
from tilecore.ir.visit import collect

from ..one_pass import before_and_after
from .kit import calls, code_of_threads, lowered, same_results

PASS = "insert_barriers"


def read_twice(size):
    """Shared memory that 64 threads write, and read twice."""

    @T.prim_func
    def kernel(X: T.Tensor((size,), "float32"), Y: T.Tensor((size,), "float32"), Z: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((size,), "float32")
            T.copy(X, s)
            for i in T.Parallel(size):
                Y[i] = s[size - 1 - i]
            for i in T.Parallel(size):
                Z[i] = s[i] * 2

    return kernel


def test_one_barrier_stands_between_the_writer_and_the_readers():
    before, after = before_and_after(read_twice(64), PASS)
    barrier = "T.tile.sync_threads()\n"
    assert barrier not in before
    assert after.replace(barrier, "", 1) == before
    assert after.partition(barrier)[0].endswith("s[tx] = X[tx]\n")


@pytest.mark.parametrize("threads", [1, 64])
def test_a_block_of_one_thread_waits_for_nobody(threads):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=threads):
            s = T.alloc_shared((64,), "float32")
            T.copy(X, s)
            for i in T.Parallel(64):
                Y[i] = s[63 - i]

    assert barriers(kernel)[0] == (threads > 1)


def barriers(func):
    after, env = lowered(func, "insert_barriers")
    return len(calls(after.body, "tile.sync_threads")), env


def test_a_reader_waits_for_the_writer_once():
    kernel = read_twice(128)
    assert barriers(kernel)[0] == 1
    same_results(kernel, np.arange(128, dtype=np.float32), *(np.zeros(128, np.float32) for _ in range(2)))


def test_registers_need_none():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=64):
            f = T.alloc_fragment((128,), "float32")
            T.copy(X, f)
            for i in T.Parallel(128):
                f[i] = f[i] * 2
            T.copy(f, Y)

    assert barriers(kernel)[0] == 0
    same_results(kernel, np.arange(128, dtype=np.float32), np.zeros(128, np.float32))


def test_one_thread_does_what_the_block_does_once():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32"), C: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((1,), "int32")
            s[0] = X[3]
            C[0] = C[0] + 1
            for i in T.Parallel(64):
                Y[i] = s[0] + X[i]

    count, _ = barriers(kernel)
    assert count == 1  # before s is read
    same_results(kernel, np.arange(64, dtype=np.int32), np.zeros(64, np.int32), np.zeros(1, np.int32))


def test_what_a_turn_leaves_is_seen_by_the_next():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((64,), "float32")
            T.copy(X, s)
            for k in T.serial(3):
                f = T.alloc_fragment((64,), "float32")
                for i in T.Parallel(64):
                    f[i] = s[(i + 1) % 64] + k
                T.copy(f, s)
            T.copy(s, Y)

    same_results(kernel, np.arange(64, dtype=np.float32), np.zeros(64, np.float32))


def test_tiles_that_live_one_after_the_other_share_memory():
    @T.prim_func
    def kernel(X: T.Tensor((3, 256), "float32"), Y: T.Tensor((3, 256), "float32")):
        with T.Kernel(1, threads=64):
            a, b, c = (T.alloc_shared((256,), "float32") for _ in range(3))
            T.copy(X[0, :], a)
            for i in T.Parallel(256):
                Y[0, i] = a[255 - i]
            T.copy(X[1, :], b)
            for i in T.Parallel(256):
                Y[1, i] = b[255 - i]
            T.copy(X[2, :], c)
            for i in T.Parallel(256):
                Y[2, i] = c[255 - i]

    count, env = barriers(kernel)
    assert env.report["shared_memory"][0]["bytes"] == 1024
    assert count == 5  # also before a tile is written where another was read
    rng = np.random.default_rng(0)
    same_results(kernel, rng.random((3, 256), np.float32), np.zeros((3, 256), np.float32))


@pytest.mark.parametrize("tiles", range(1, 9))
def test_parameters_that_may_be_one_tensor_are_found_whatever_else_needs_the_barrier(tiles):
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), X: T.Tensor((32,), "float32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            t = T.alloc_shared((32,), "int32")
            T.copy(A, t)
            others = [T.alloc_shared((32,), "float32") for _ in range(tiles)]
            for other in others:
                T.copy(X, other)
            for i in T.Parallel(32):
                B[31 - i] = t[i ^ 1] + T.cast(sum(other[i ^ 1] for other in others), "int32")

    count, _ = barriers(kernel)
    assert count == 1
    module, _ = lowered(kernel)
    (func,) = module.functions.values()
    assert {str(name) for name in func.attrs["simt.no_restrict"]} == {"A", "B"}


def test_a_role_waits_for_what_all_threads_wrote():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((128,), "float32")
            T.copy(X, a)
            with code_of_threads(64, 64):
                for i in T.Parallel(128):
                    Y[i] = a[127 - i]

    func, _ = lowered(kernel, "place_ranges")
    assert len(calls(func.body, "tile.sync_threads")) == 1
    assert not calls(func.body, "simt.named_barrier")


def test_all_threads_meet_before_the_first_role():
    """Roles may wait for each other: no barrier of the block stands between them."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((2, 128), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((128,), "float32")
            T.copy(X, a)
            with code_of_threads(0, 64):
                T.copy(X, Y[0, :])
            with code_of_threads(64, 64):
                for i in T.Parallel(128):
                    Y[1, i] = a[127 - i]

    func, _ = lowered(kernel, "insert_barriers")
    order = [
        "barrier" if isinstance(node, Evaluate) else str(range_of(node))
        for node in collect(func.body, Evaluate, AttrStmt)
        if range_of(node) is not None or (isinstance(node, Evaluate) and op_name(node.value) == "tile.sync_threads")
    ]
    assert order == ["barrier", "threads 0 to 63", "threads 64 to 127"]


def test_a_role_that_comes_again_waits_for_itself():
    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "float32"), Y: T.Tensor((4, 128), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((128,), "float32")
            for k in T.serial(4):
                with code_of_threads(0, 64):
                    T.copy(X[k, :], a)
                with code_of_threads(0, 64):
                    for i in T.Parallel(128):
                        Y[k, i] = a[127 - i]

    func, _ = lowered(kernel, "place_ranges")
    assert len(calls(func.body, "simt.named_barrier")) == 2  # before it is read, and before it is filled again
    assert not calls(func.body, "tile.sync_threads")


def two_roles(threads=192, split=64, rest=128):
    """Each role fills a buffer of its own and reads it turned; then all threads read both."""

    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((3, 256), "float32")):
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((256,), "float32"), T.alloc_shared((256,), "float32")
            f = T.alloc_fragment((256,), "float32")
            with code_of_threads(0, split):
                T.copy(X, a)
                for i in T.Parallel(256):
                    Y[0, i] = a[255 - i]
            with code_of_threads(split, rest):
                T.copy(X, f)
                T.copy(f, b)
                for i in T.Parallel(256):
                    Y[1, i] = b[255 - i]
            for i in T.Parallel(256):
                Y[2, i] = a[i] + b[255 - i]

    return kernel


def test_barriers_are_of_the_role_and_none_is_between_roles():
    func, _ = lowered(two_roles(), "place_ranges")
    named = [[constant(a) for a in node.value.args] for node in calls(func.body, "simt.named_barrier")]
    assert named == [[1, 64], [2, 128]]
    assert len(calls(func.body, "tile.sync_threads")) == 1  # before all threads read what the roles wrote


def test_a_thread_needs_no_barrier_for_what_is_its_own():
    def reads(place):
        @T.prim_func
        def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64, 4), "float32")):
            with T.Kernel(1, threads=64):
                tx = T.get_thread_binding()
                s = T.alloc_shared((64, 4), "float32")
                for j in T.serial(4):
                    s[tx, j] = X[tx] * j
                for j in T.serial(4):
                    Y[tx, j] = s[place(tx, j)]

        return kernel

    assert barriers(reads(lambda tx, j: (tx, 3 - j)))[0] == 0
    assert barriers(reads(lambda tx, j: (63 - tx, j)))[0] == 1


def test_a_vector_is_one_access():
    """The barrier stands before the loop over its lanes, which stays one move."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=16):
            t = T.get_thread_binding() * 4
            tile = T.alloc_shared((64,), "int32")
            tile[T.Ramp(t, 1, 4)] = X[T.Ramp(t, 1, 4)]
            Y[T.Ramp(t, 1, 4)] = tile[T.Ramp(60 - t, 1, 4)]

    after, _ = lowered(kernel, PASS)
    assert len(calls(after.body, "tile.sync_threads")) == 1
    vectors = [loop for loop in collect(after.body, For) if loop.kind == ForKind.VECTORIZED]
    assert len(vectors) == 2
    assert not any(calls(loop, "tile.sync_threads") for loop in vectors)
    x = np.arange(64, dtype=np.int32)
    same_results(kernel, x, np.zeros(64, np.int32))
