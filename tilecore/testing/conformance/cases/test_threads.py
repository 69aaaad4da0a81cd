"""Kernels that use thread indices: each does on a target what the interpreter says, whatever the target's threads."""

from functools import partial

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError

from .kit import check, close, has_warps, reduces_only_in_uniform_code, sample, zeros


def test_indices_along_three_axes(target):
    sizes = (5, 3, 2)

    @T.prim_func
    def kernel(Y: T.Tensor((2, 2, 3, 5), "int32"), L: T.Tensor((30,), "int32"), W: T.Tensor((30,), "int32")):
        with T.Kernel(2, threads=sizes) as b:
            tx, ty, tz = T.get_thread_bindings()
            Y[b, tz, ty, tx] = b * 1000 + tz * 100 + ty * 10 + tx
            L[tx + 5 * ty + 15 * tz] = T.get_lane_idx(8) + 10 * T.get_lane_idx()
            W[tx + 5 * ty + 15 * tz] = T.get_warp_idx(8) + 10 * T.get_warp_group_idx(4, 2) + T.get_warp_idx_sync(16)

    y, lanes, warps = check(kernel, target, zeros("int32", (2, 2, 3, 5)), zeros("int32", 30), zeros("int32", 30))
    b, k, j, i = np.indices(y.shape)
    np.testing.assert_array_equal(y, b * 1000 + k * 100 + j * 10 + i)
    n = np.arange(30)
    np.testing.assert_array_equal(lanes, n % 8 + 10 * (n % 32))
    np.testing.assert_array_equal(warps, n // 8 + 10 * (n // 8) + n // 16)


def test_loops_bound_to_threads(target):
    @T.prim_func
    def kernel(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((4, 8), "float32")):
        with T.Kernel(1, threads=(8, 4)):
            for i in T.thread_binding(0, 4, thread="threadIdx.y"):
                for j in T.thread_binding(0, 8, thread="threadIdx.x"):
                    Y[i, j] = X[i, j] * 2.0 + T.cast(i, "float32")

    x = sample("float32", (4, 8))
    y = check(kernel, target, x, zeros("float32", (4, 8)))[1]
    np.testing.assert_array_equal(y, x * np.float32(2) + np.arange(4, dtype=np.float32)[:, None])


def test_an_index_of_threads_is_a_value(target):
    """T.thread_binding without a loop; ``.dtype`` of what is computed with it."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 8), "uint8"), Y: T.Tensor((4, 8), "float32")):
        with T.Kernel(1, threads=(8, 4)):
            j = T.thread_binding(0, 8, thread="threadIdx.x")
            i = T.thread_binding(0, 4, thread="threadIdx.y")
            value = X[i, j] + T.uint8(1)
            assert value.dtype == X.dtype
            Y[i, 7 - j] = T.cast(value, Y.dtype) + j * 2

    x, y = check(kernel, target, sample("uint8", (4, 8)), zeros("float32", (4, 8)))
    np.testing.assert_array_equal(y, (x + np.uint8(1) + np.arange(8) * 2.0)[:, ::-1])


def test_a_tree_of_sums_in_shared_memory(target):
    @T.prim_func
    def kernel(X: T.Tensor((6, 64), "float32"), Y: T.Tensor((6,), "float32")):
        with T.Kernel(6, threads=64) as b:
            tx = T.get_thread_binding()
            s = T.alloc_shared((64,), "float32")
            n = T.alloc_var("int32", init=32)
            s[tx] = X[b, tx]
            T.sync_threads()
            while n > 0:
                if n > tx:
                    s[tx] = s[tx] + s[tx + n]
                T.sync_threads()
                n = n // 2
            if tx == 0:
                Y[b] = s[0]

    x = sample("float32", (6, 64))
    y = check(kernel, target, x, zeros("float32", 6), compare=close)[1]
    np.testing.assert_allclose(y, x.sum(1), rtol=1e-5, atol=1e-5)


def test_values_pass_between_threads_through_shared_memory(target):
    """Scans of Hillis and Steele: each step reads what other threads wrote in the step before."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32"), Z: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((64,), "int32")
            mine = T.alloc_var("int32", init=0)
            s[tx] = X[tx]
            for k in T.serial(6):
                mine = s[tx]
                if tx >= (1 << k):
                    mine = mine + s[tx - (1 << k)]
                s[tx] = mine
            Y[tx] = s[tx]
            Z[63 - tx] = s[(tx * 7) % 64]

    x = sample("int32", 64)
    y, z = check(kernel, target, x, zeros("int32", 64), zeros("int32", 64))[1:]
    np.testing.assert_array_equal(y, np.cumsum(x))
    np.testing.assert_array_equal(z[::-1], np.cumsum(x)[np.arange(64) * 7 % 64])


def test_private_memory_lives_from_one_region_to_the_next(target):
    @T.prim_func
    def kernel(X: T.Tensor((16, 4), "float16"), Y: T.Tensor((16, 4), "float16"), Z: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=16):
            tx = T.get_thread_binding()
            mine, turned = T.alloc_local((4,), "float16"), T.alloc_local((2, 2), "float16")
            s = T.alloc_shared((16,), "float32")
            T.copy(X[tx, 0:4], mine)
            first = mine[0] * T.float16(2)
            flat = T.view(turned, (4,))
            for k in T.serial(4):
                turned[k % 2, k // 2] = mine[k]
            s[tx] = T.cast(first, "float32")
            T.sync_threads()
            for k in T.serial(4):
                Y[15 - tx, k] = flat[k] + first
            Z[tx] = s[15 - tx] + T.cast(mine[3], "float32")

    x = sample("float16", (16, 4))
    check(kernel, target, x, zeros("float16", (16, 4)), zeros("float32", 16))


def test_tile_operations_of_one_thread(target):
    @T.prim_func
    def kernel(
        A: T.Tensor((8, 4, 6), "float16"), Y: T.Tensor((8, 6, 4), "float32"), Z: T.Tensor((8, 4), "float32"),
        W: T.Tensor((8, 4), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            mine, turned = T.alloc_local((4, 6), "float32"), T.alloc_local((6, 4), "float32")
            sums, run = T.alloc_local((4,), "float32"), T.alloc_local((4,), "float32")
            if tx != 3:
                T.copy(A[tx, 0:4, 0:6], mine)
            else:
                T.fill(mine, 5.0)
            T.transpose(mine, turned)
            T.reduce_max(mine, sums, dim=1)
            T.cumsum(sums, run, dim=0)
            T.copy(run[0:3], run[1:4])
            T.copy(turned, Y[7 - tx, 0:6, 0:4])
            T.copy(sums, Z[tx, 0:4])
            T.copy(run, W[tx, 0:4])

    a = sample("float16", (8, 4, 6))
    shapes = [zeros("float32", s) for s in ((8, 6, 4), (8, 4), (8, 4))]
    check(kernel, target, a, *shapes, compare=close)


def test_operations_of_the_block_between_those_of_threads(target):
    @T.prim_func
    def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((32, 32), "float32"), Y: T.Tensor((4, 32), "float32")):
        with T.Kernel(4, threads=32) as b:
            tx = T.get_thread_binding()
            s, w = T.alloc_shared((32, 32), "float32"), T.alloc_shared((16, 32), "float32")
            c = T.alloc_fragment((16, 32), "float32")
            T.copy(B, s)
            for k in T.serial(16):
                w[k, tx] = A[b, (tx + k) % 32]
            T.gemm(w, s, c, clear_accum=True)
            for i, j in T.Parallel(16, 32):
                c[i, j] = c[i, j] * 0.5
            T.copy(c, w)
            Y[b, 31 - tx] = w[3, tx] + w[5, 31 - tx]

    arrays = sample("float32", (4, 32)), sample("float32", (32, 32), 1), zeros("float32", (4, 32))
    check(kernel, target, *arrays, compare=partial(close, steps=40))


@pytest.mark.parametrize("stop", [2, 9])
def test_loops_and_jumps_of_each_thread(target, stop):
    @T.prim_func
    def kernel(B: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32"), Z: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            n = T.alloc_var("int32", init=0)
            steps = T.alloc_var("int32", init=0)
            for a in T.serial(B[tx]):
                for k in T.serial(tx, tx + 4):
                    if k == stop:
                        break
                    if k + a == 5:
                        continue
                    n += 10 * a + k
                n += 1000
            while n > 20:
                n = n // 2
                steps += 1
            Y[tx] = n
            Z[tx] = steps

    bounds = np.array([0, 3, 1, 7, 2, 2, 5, 4], np.int32)
    check(kernel, target, bounds, zeros("int32", 8), zeros("int32", 8))


def test_loops_that_all_threads_leave_together(target):
    @T.prim_func
    def kernel(X: T.Tensor((9,), "int32"), Y: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=16):
            tx = T.get_thread_binding()
            s = T.alloc_shared((16,), "int32")
            s[tx] = tx
            for k in T.serial(9):
                if X[k] < 0:
                    break
                if X[k] == 7:
                    continue
                other = s[(tx + X[k]) % 16]
                T.sync_threads()
                s[tx] = other + k
            Y[tx] = s[tx]

    check(kernel, target, np.array([1, 3, 7, 2, 7, 5, -1, 2, 2], np.int32), zeros("int32", 16))


def test_what_all_threads_do_alike_is_done_once(target):
    @T.prim_func
    def kernel(Y: T.Tensor((4,), "int32"), Z: T.Tensor((8,), "int32")):
        with T.Kernel(4, threads=8) as b:
            tx = T.get_thread_binding()
            s = T.alloc_shared((2,), "int32")
            n = T.alloc_var("int32", init=3)
            s[0] = 7
            s[0] = s[0] + b
            s[1] = s[0] * 2
            n = n + 1
            Y[b] = s[0] + s[1] + n
            if b == 2:
                Z[tx] = s[1] + n * tx

    y, z = check(kernel, target, zeros("int32", 4), zeros("int32", 8))
    assert y.tolist() == [25, 28, 31, 34]
    assert z.tolist() == [18 + 4 * t for t in range(8)]


def test_loops_of_the_block_around_threads(target):
    """What changes from one iteration to the next for all threads alike; and buffers that change roles."""

    @T.prim_func
    def kernel(X: T.Tensor((16,), "int32"), Y: T.Tensor((16,), "int32"), Z: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=16):
            tx = T.get_thread_binding()
            s, q = T.alloc_shared((16,), "int32"), T.alloc_shared((16,), "int32")
            n, mine = T.alloc_var("int32", init=1), T.alloc_var("int32", init=0)
            for k in T.serial(4):
                n = n * 2 + k
                mine = mine + n * tx
            Y[tx] = mine
            s[tx] = X[tx]
            q[tx] = 0
            for k in T.serial(5):
                if k % 2 == 0:
                    q[tx] = s[(tx + 1) % 16]
                else:
                    s[tx] = q[(tx + 3) % 16]
            Z[tx] = q[tx]

    x = sample("int32", 16)
    y, z = check(kernel, target, x, zeros("int32", 16), zeros("int32", 16))[1:]
    np.testing.assert_array_equal(y, np.arange(16) * (2 + 5 + 12 + 27))
    np.testing.assert_array_equal(z, np.roll(x, -9))


def test_a_count_that_is_the_same_until_threads_leave_a_loop(target):
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32"), Z: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            n, odd = T.alloc_var("int32", init=0), T.alloc_var("int32", init=0)
            for k in T.serial(10):
                if X[tx] == k:
                    break
                n = n + 1
            for k in T.serial(10):
                if X[tx] == k:
                    continue
                odd = odd + k
            Y[tx] = n
            Z[tx] = odd

    x = np.array([3, 1, 12, 0, 7, 7, 9, 5], np.int32)
    y, z = check(kernel, target, x, zeros("int32", 8), zeros("int32", 8))[1:]
    np.testing.assert_array_equal(y, np.minimum(x, 10))
    np.testing.assert_array_equal(z, 45 - np.where(x < 10, x, 0))


def test_atomics_of_every_thread(target):
    @T.prim_func
    def kernel(
        K: T.Tensor((64,), "int32"),
        H: T.Tensor((10,), "int32"),
        N: T.Tensor((1,), "float32"),
        R: T.Tensor((64,), "int32"),
    ):
        with T.Kernel(2, threads=32) as b:
            tx = T.get_thread_binding()
            s = T.alloc_shared((10,), "int32")
            T.clear(s)
            T.atomic_add(s[K[b * 32 + tx]], 1)
            T.sync_threads()
            if tx < 10:
                T.atomic_add(H[tx], s[tx])
            T.atomic_add(N[0], 0.5)
            place = T.atomic_add(s[0], 2, return_prev=True)
            R[b * 32 + place // 2 % 32] = 1

    keys = np.random.default_rng(0).integers(1, 10, 64).astype(np.int32)
    h, n, r = check(kernel, target, keys, zeros("int32", 10), zeros("float32", 1), zeros("int32", 64))[1:]
    np.testing.assert_array_equal(h, np.bincount(keys, minlength=10))
    assert n[0] == 32.0
    assert r.tolist() == [1] * 64


# -- values joined over threads ------------------------------------------------------------------------------


def gemv(n, k, rows, reducers, width=8):
    @T.prim_func
    def kernel(A: T.Tensor((k,), "float16"), B: T.Tensor((n, k), "float16"), C: T.Tensor((n,), "float16")):
        with T.Kernel(T.ceildiv(n, rows), threads=(reducers, rows)) as bn:
            a, b = T.alloc_local((width,), "float16"), T.alloc_local((width,), "float16")
            total, sums = T.alloc_local((1,), "float32"), T.alloc_local((1,), "float32")
            tk, tn = T.get_thread_binding(0), T.get_thread_binding(1)
            T.clear(total)
            for step in T.serial(T.ceildiv(k, reducers * width)):
                for v in T.vectorized(width):
                    a[v] = A[step * reducers * width + tk * width + v]
                    b[v] = B[bn * rows + tn, step * reducers * width + tk * width + v]
                for v in T.serial(width):
                    total[0] += T.cast(a[v], "float32") * T.cast(b[v], "float32")
            with T.attr(
                T.comm_reducer(lambda x, y: x + y, [T.Cast("float32", 0)]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), total[0], True, sums[0], tk, dtype="handle"))
            if tk == 0:
                C[bn * rows + tn] = T.cast(sums[0], "float16")

    return kernel


@pytest.mark.parametrize(("rows", "reducers"), [(4, 32), (8, 8), (1, 16)])
def test_matrix_times_vector_by_a_sum_over_threads(target, rows, reducers):
    a, b = sample("float16", 512), sample("float16", (32, 512), 1)
    c = check(gemv(32, 512, rows, reducers), target, a, b, zeros("float16", 32), compare=close)[2]
    np.testing.assert_allclose(c.astype(float), b.astype(float) @ a.astype(float), rtol=1e-2, atol=1e-2)


def test_reductions_along_each_axis(target):
    """x and y joined, y alone, all axes; with a condition and other operations."""

    @T.prim_func
    def kernel(
        X: T.Tensor((2, 3, 4), "int32"),
        Y: T.Tensor((2,), "int32"),
        Z: T.Tensor((2, 4), "int32"),
        W: T.Tensor((1,), "int32"),
    ):
        with T.Kernel(1, threads=(4, 3, 2)):
            x, y, z = T.get_thread_bindings()
            results = T.alloc_local((3,), "int32")
            with T.attr(T.comm_reducer(lambda a, b: T.max(a, b), [T.int32(-1000)]), "reduce_scope", 0):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), X[z, y, x], x != 2, results[0], x, y, dtype="handle"))
            with T.attr(T.comm_reducer(lambda a, b: b + a, [T.int32(0)]), "reduce_scope", 0):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), X[z, y, x], True, results[1], y, dtype="handle"))
            with T.attr(T.comm_reducer(lambda a, b: a ^ b, [T.int32(0)]), "reduce_scope", 0):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), X[z, y, x], True, results[2], x, y, z, dtype="handle"))
            if (x == 0) & (y == 0):
                Y[z] = results[0]
            if y == 1:
                Z[z, x] = results[1]
            W[0] = results[2]

    x = sample("int32", (2, 3, 4))
    y, z, w = check(kernel, target, x, zeros("int32", 2), zeros("int32", (2, 4)), zeros("int32", 1))[1:]
    np.testing.assert_array_equal(y, x[:, :, [0, 1, 3]].max((1, 2)))
    np.testing.assert_array_equal(z, x.sum(1))
    assert w[0] == np.bitwise_xor.reduce(x, None)


def test_reductions_over_warps(target):
    """Each warp reduces, then the first warp alone reduces their results; 80 threads leave the last warp half full."""

    @T.prim_func
    def kernel(X: T.Tensor((80,), "float32"), Y: T.Tensor((1,), "float32"), M: T.Tensor((80, 5), "int32")):
        with T.Kernel(1, threads=80):
            tx = T.get_thread_binding()
            s = T.alloc_shared((3,), "float32")
            total = T.warp_reduce_sum(X[tx])
            if T.get_lane_idx() == 0:
                s[T.get_warp_idx()] = total
            T.sync_threads()
            if T.get_warp_idx() == 0:
                part = T.if_then_else(tx < 3, s[T.min(tx, 2)], 0.0)
                whole = T.warp_reduce_sum(part)
                if tx == 0:
                    Y[0] = whole
            M[tx, 0] = T.cast(T.warp_reduce_max(X[tx]) * 100, "int32")
            M[tx, 1] = T.cast(T.warp_reduce_min(X[tx]) * 100, "int32")
            M[tx, 2] = T.warp_reduce_bitor(tx)
            M[tx, 3] = T.warp_reduce_bitand(tx | 5)
            M[tx, 4] = T.cast(T.any_sync(tx == 40), "int32") + 2 * T.cast(T.all_sync(tx < 64), "int32")

    if reduces_only_in_uniform_code(target):  # the first warp is alone in its `if`
        refused(kernel, target, "is in divergent code", UnsupportedError)
        return
    x = sample("float32", 80)
    y, m = check(kernel, target, x, zeros("float32", 1), zeros("int32", (80, 5)), compare=close)[1:]
    np.testing.assert_allclose(y[0], x.sum(), rtol=1e-5)
    warp = np.arange(80) // 32
    assert m[:, 4].tolist() == [2 * (w < 2) + (w == 1) for w in warp]
    assert m[:, 2].tolist() == [int(np.bitwise_or.reduce(np.arange(80)[warp == w])) for w in warp]


def test_votes_of_the_block_decide_for_all(target):
    @T.prim_func
    def kernel(X: T.Tensor((3, 40), "int32"), Y: T.Tensor((3, 40), "int32"), N: T.Tensor((3,), "int32")):
        with T.Kernel(3, threads=40) as b:
            tx = T.get_thread_binding()
            s = T.alloc_shared((40,), "int32")
            count = T.syncthreads_count(X[b, tx] > 50)
            N[b] = count
            if T.syncthreads_or(X[b, tx] > 90):
                T.copy(X[b, 0:40], s)
                Y[b, tx] = s[39 - tx]
            if T.syncthreads_and(X[b, tx] < 90):
                Y[b, tx] = count

    x = np.random.default_rng(3).integers(0, 90, (3, 40)).astype(np.int32)
    x[1, 7] = 95
    y, n = check(kernel, target, x, zeros("int32", (3, 40)), zeros("int32", 3))[1:]
    np.testing.assert_array_equal(n, (x > 50).sum(1))
    np.testing.assert_array_equal(y[1], x[1, ::-1])
    np.testing.assert_array_equal(y[0], np.full(40, n[0]))


# -- errors --------------------------------------------------------------------------------------------------


def refused(func, target, match, kind=LanguageError):
    with pytest.raises(kind, match=match) as caught:
        tilecore.compile(func, target=target)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    return caught.value


def test_block_operations_are_for_all_threads(target):
    @T.prim_func
    def copies(A: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            if T.get_thread_binding() < 3:
                T.copy(A, Y)

    @T.prim_func
    def loops(A: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            for k in T.serial(T.get_thread_binding()):
                for i in T.Parallel(8):
                    Y[i] = A[i] + k

    @T.prim_func
    def barriers(Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            n = T.alloc_var("int32", init=tx)
            while n > 0:
                T.sync_threads()
                n = n - 1
            Y[tx] = n

    @T.prim_func
    def reductions(Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            if tx > 1:
                Y[tx] = T.syncthreads_count(tx > 2)

    for func, operation in (
        (copies, "T.copy"),
        (loops, "T.Parallel"),
        (barriers, "T.sync_threads"),
        (reductions, "reduction"),
    ):
        error = refused(func, target, f"{operation}.* is reached by only some threads of the block")
        assert "it stands in the divergent" in error.found


def test_operations_of_the_block_under_a_condition_on_warps(target):
    """A condition on whole warps only says who could do it; a value that is loaded there is the same in all threads."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((4, 64), "float32"), Z: T.Tensor((4,), "float32")):
        with T.Kernel(4, threads=96) as block:
            row = T.alloc_shared((64,), "float32")
            T.copy(X[block, 0], row)
            if T.get_thread_binding() < 32:
                doubled, total = T.alloc_fragment((64,), "float32"), T.alloc_fragment((1,), "float32")
                for j in T.Parallel(64):
                    doubled[j] = row[j] * 2
                T.reduce_sum(doubled, total, dim=0)
                for j in T.Parallel(1):
                    Z[block + j] = total[j]
            else:
                factors, scaled = T.alloc_shared((64,), "float32"), T.alloc_fragment((64,), "float32")
                for j in T.Parallel(64):
                    factors[j] = row[j] + 1
                T.clear(scaled)
                for k in T.serial(4):
                    factor = factors[k]
                    for j in T.Parallel(64):
                        scaled[j] += factor * row[j]
                T.copy(scaled, Y[block, 0])

    x = np.random.default_rng(0).integers(-8, 8, (4, 64)).astype("float32")
    _, y, z = check(kernel, target, x, np.zeros_like(x), zeros("float32", 4))
    np.testing.assert_array_equal(y, (x[:, :4] + 1).sum(1, keepdims=True) * x)
    np.testing.assert_array_equal(z, 2 * x.sum(1))


@pytest.mark.parametrize("name", ["fill", "clear", "atomic_add", "reduce_max", "cumsum", "transpose"])
def test_what_is_refused_has_the_name_that_was_written(target, name):
    @T.prim_func
    def kernel(Y: T.Tensor((8, 8), "int32")):
        with T.Kernel(1, threads=32):
            s, row = T.alloc_shared((8, 8), "int32"), T.alloc_shared((8,), "int32")
            T.copy(Y, s)
            if T.get_thread_binding() < 3:
                if name == "fill":
                    T.fill(s, 0)
                elif name == "clear":
                    T.clear(s)
                elif name == "atomic_add":
                    T.atomic_add(Y, s)
                elif name == "reduce_max":
                    T.reduce_max(s, row, dim=1)
                elif name == "cumsum":
                    T.cumsum(s)
                else:
                    T.transpose(s, s)

    refused(kernel, target, rf"^T\.{name} is reached by only some threads of the block")


def test_operands_of_block_operations_do_not_depend_on_the_thread(target):
    @T.prim_func
    def copies(A: T.Tensor((8, 4), "int32"), Y: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            T.copy(A[tx, 0:4], Y)

    @T.prim_func
    def loops(Y: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            for i in T.Parallel(16):
                Y[i] = i * tx

    @T.prim_func
    def memory(Y: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=8):
            mine = T.alloc_local((1,), "int32")
            mine[0] = T.get_thread_binding()
            for i in T.Parallel(16):
                Y[i] = i * mine[0]

    assert "tx" in refused(copies, target, "an operand of T.copy differs between threads").found
    assert "tx" in refused(loops, target, "stands in T.Parallel").found
    assert "mine" in refused(memory, target, "stands in T.Parallel").found


def test_reductions_in_loops_that_threads_leave_at_different_times(target):
    @T.prim_func
    def kernel(Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            for k in T.serial(tx // 32):
                Y[tx] = T.warp_reduce_sum(k)

    if has_warps(target):  # all threads of a warp leave together
        check(kernel, target, zeros("int32", 64))
    else:
        refused(kernel, target, "at different times|is in divergent code", UnsupportedError)
