"""Barriers where they are needed and nowhere else; shared memory shared by buffers that live apart."""

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LimitError, UnsupportedError

from .kit import calls, lowered, same_results


def barriers(func):
    made, env = lowered(func, "insert_barriers")
    return len(calls(made.body, "tile.sync_threads")), env


def test_a_reader_waits_for_the_writer_once():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32"), Z: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((128,), "float32")
            T.copy(X, s)
            for i in T.Parallel(128):
                Y[i] = s[127 - i]
            for i in T.Parallel(128):
                Z[i] = s[i] * 2

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


def test_too_much_shared_memory_says_what_takes_it():
    @T.prim_func
    def kernel(X: T.Tensor((256, 256), "float32"), Y: T.Tensor((256, 256), "float32")):
        with T.Kernel(1, threads=64):
            large = T.alloc_shared((256, 256), "float32")
            T.copy(X, large)
            T.copy(large, Y)

    with pytest.raises(UnsupportedError, match="262144 bytes of shared memory") as caught:
        lowered(kernel)
    assert "large 262144" in str(caught.value)
    assert "at most 163840" in str(caught.value)


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

    count, env = barriers(kernel)
    assert count == 1
    assert env.facts["may_alias"] == {"A", "B"}


def refused(kernel):
    with pytest.raises(LimitError) as caught:
        lowered(kernel)
    return str(caught.value.hint)


def test_what_does_not_fit_however_small_is_not_said_to_fit():
    """Each buffer begins at an aligned place: a great number of small ones needs more than a block has."""

    @T.prim_func
    def kernel(X: T.Tensor((16,), "float32"), Y: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=32):
            tiles = [T.alloc_shared((16,), "float32") for _ in range(1400)]
            for tile in tiles:
                T.copy(X, tile)
            for i in T.Parallel(16):
                for tile in tiles:
                    Y[i] = tile[15 - i]

    hint = refused(kernel)
    assert "fit" not in hint
    assert hint.startswith("fewer buffers: 1400 of one byte each would need 179")


def test_stages_are_those_of_a_loop_that_is_named_where_there_are_several():
    @T.prim_func
    def kernel(X: T.Tensor((32, 4096), "float32"), Y: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=128):
            few, many = T.alloc_shared((4096,), "float32"), T.alloc_shared((4096,), "float32")
            for k in T.Pipelined(8, num_stages=2):
                T.copy(X[k, 0], few)
                for i in T.Parallel(4096):
                    Y[i] = few[4095 - i]
                for j in T.Pipelined(4, num_stages=12):
                    T.copy(X[k * 4 + j, 0], many)
                    for i in T.Parallel(4096):
                        Y[i] = many[4095 - i]

    assert "num_stages=8 in the loop that fills many needs 163840 bytes, which fits" in refused(kernel)


def test_fragments_that_are_kept_in_shared_memory_are_named_with_the_reason():
    @T.prim_func
    def kernel(X: T.Tensor((256, 256), "float32"), Y: T.Tensor((256, 256), "float32")):
        with T.Kernel(1, threads=64):
            large = T.alloc_fragment((256, 256), "float32")
            T.copy(X, large)
            for i, j in T.Parallel(256, 256):
                Y[i, j] = large[j, 255 - i]

    assert "; large is a fragment, kept in shared memory: " in refused(kernel)
