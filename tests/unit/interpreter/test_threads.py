"""Kernels that use thread indices: threads run in step, each with its own memory and its own control flow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import InterpreterError, LanguageError, OutOfBoundsError, RaceError, UninitialisedReadError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import BufferLoad, BufferStore, For, ForKind, IfThenElse, IntImm, Return, Var, While
from tilecore.ir.tile_ops import tile_statement

from .kit import block, buffer, function, launch, sample


@settings(max_examples=15, deadline=None)
@given(sizes=st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3)))
def test_indices_of_threads_and_blocks(sizes):
    x, y, z = sizes

    @T.prim_func
    def kernel(Y: T.Tensor((2, z, y, x), "int32")):
        with T.Kernel(2, threads=sizes) as b:
            tx, ty, tz = T.get_thread_bindings()
            Y[b, tz, ty, tx] = b * 1000 + tz * 100 + ty * 10 + tx

    out = np.zeros((2, z, y, x), np.int32)
    interpret(kernel, out)
    b, k, j, i = np.indices(out.shape)
    np.testing.assert_array_equal(out, b * 1000 + k * 100 + j * 10 + i)


def test_a_tree_of_sums_in_shared_memory():
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

    x, y = sample("float32", (6, 64)), np.zeros(6, np.float32)
    interpret(kernel, x, y)
    np.testing.assert_allclose(y, x.sum(1), rtol=1e-5, atol=1e-5)


def test_private_memory_is_of_each_thread():
    @T.prim_func
    def kernel(X: T.Tensor((16, 4), "int32"), Y: T.Tensor((16, 4), "int32")):
        with T.Kernel(1, threads=16):
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), "int32")
            for k in T.serial(4):
                mine[k] = X[tx, 3 - k]
            total = T.alloc_var("int32", init=0)
            for k in T.serial(4):
                total += mine[k]
                Y[tx, k] = total

    x, y = sample("int32", (16, 4)), np.zeros((16, 4), np.int32)
    interpret(kernel, x, y)
    np.testing.assert_array_equal(y, np.cumsum(x[:, ::-1], axis=1))


def test_an_unwritten_private_element_is_found_in_its_thread():
    @T.prim_func
    def kernel(Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            mine = T.alloc_local((1,), "int32")
            if tx != 5:
                mine[0] = tx
            Y[tx] = mine[0]

    with pytest.raises(UninitialisedReadError, match=r"mine\[0\].*tx = 5, block \(0,\)"):
        interpret(kernel, np.zeros(8, np.int32))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=8, max_size=8), st.integers(0, 9), st.integers(0, 9))
def test_loops_and_jumps_of_each_thread(bounds, stop, skip):
    @T.prim_func
    def kernel(B: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            n = T.alloc_var("int32", init=0)
            for a in T.serial(B[tx]):
                for k in T.serial(tx, tx + 4):
                    if k == stop:
                        break
                    if k + a == skip:
                        continue
                    n += 10 * a + k
                n += 1000
            Y[tx] = n

    def reference(tx, bound):
        n = 0
        for a in range(bound):
            for k in range(tx, tx + 4):
                if k == stop:
                    break
                if k + a == skip:
                    continue
                n += 10 * a + k
            n += 1000
        return n

    y = np.zeros(8, np.int32)
    interpret(kernel, np.int32(bounds), y)
    assert y.tolist() == [reference(t, b) for t, b in enumerate(bounds)]


def test_a_thread_that_returns_does_nothing_more():
    y, tx = buffer("Y", (8,), "int32"), Var("tx", "int32")
    body = block(
        BufferStore(y, IntImm("int32", 1), [tx]),
        IfThenElse(tx > 4, Return(IntImm("int32", 0)), None),
        BufferStore(y, IntImm("int32", 2), [tx]),
    )
    out = np.zeros(8, np.int32)
    interpret(function([y], launch(body, 1, threads=(8,), thread_vars=(tx,))), out)
    assert out.tolist() == [2] * 5 + [1] * 3


@pytest.mark.parametrize("loop", ["for", "while", "bounds of each thread"])
def test_a_thread_that_returns_from_a_loop_does_nothing_after_it(loop):
    y, tx, k = buffer("Y", (8,), "int32"), Var("tx", "int32"), Var("k", "int32")
    inside = IfThenElse(tx > 4, Return(IntImm("int32", 0)), None)
    if loop == "while":
        body = block(BufferStore(y, BufferLoad(y, [tx]) + 1, [tx]), inside)
        spin = While(BufferLoad(y, [tx]) < 3, body)
    else:
        spin = For(k, 0, 3 if loop == "for" else tx + 1, ForKind.SERIAL, inside)
    after = BufferStore(y, IntImm("int32", 9), [tx])
    out = np.zeros(8, np.int32)
    interpret(function([y], launch(block(spin, after), 1, threads=(8,), thread_vars=(tx,))), out)
    assert out.tolist() == [9] * 5 + [1 if loop == "while" else 0] * 3


def test_a_block_that_returns_does_nothing_more_and_others_go_on():
    y, bx = buffer("Y", (4,), "int32"), Var("bx", "int32")
    body = block(IfThenElse(bx.equal(1), Return(IntImm("int32", 0)), None), BufferStore(y, IntImm("int32", 2), [bx]))
    out = np.zeros(4, np.int32)
    interpret(function([y], launch(body, 4, block_vars=(bx,))), out)
    assert out.tolist() == [2, 0, 2, 2]


def test_threads_that_write_one_element_differently_race():
    @T.prim_func
    def kernel(Y: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            Y[tx // 2] = tx

    with pytest.raises(RaceError, match=r"two threads write different values to Y\[0\]") as caught:
        interpret(kernel, np.zeros(4, np.int32))
    assert caught.value.found == "0 at tx = 0, block (0,); 1 at tx = 1, block (0,)"


def test_threads_that_write_one_element_alike_do_not_race():
    @T.prim_func
    def kernel(Y: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            s = T.alloc_shared((1,), "int32")
            s[0] = 7
            if tx < 4:
                Y[tx] = s[0] + tx

    y = np.zeros(4, np.int32)
    interpret(kernel, y)
    assert y.tolist() == [7, 8, 9, 10]


def test_threads_are_not_masked_at_the_edges_of_global_buffers():
    @T.prim_func
    def kernel(Y: T.Tensor((5,), "int32")):
        with T.Kernel(1, threads=8):
            Y[T.get_thread_binding()] = 1

    with pytest.raises(OutOfBoundsError, match=r"Y\[5\].*tx = 5"):
        interpret(kernel, np.zeros(5, np.int32))


def divergent(statement):
    tx = Var("tx", "int32")
    return function([], launch(IfThenElse(tx < 3, statement, None), 1, threads=(8,), thread_vars=(tx,)))


def test_a_barrier_is_for_all_threads():
    with pytest.raises(LanguageError, match="sync_threads is reached by only some threads") as caught:
        interpret(divergent(tile_statement("sync_threads", [])))
    assert caught.value.found == "3 of 8 threads"


def test_block_operations_are_for_all_threads():
    @T.prim_func
    def copies(A: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            if T.get_thread_binding() < 3:
                T.copy(A, Y)

    @T.prim_func
    def loops(A: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            if T.get_thread_binding() < 3:
                for i in T.Parallel(8):
                    Y[i] = A[i]

    for kernel in (copies, loops):
        with pytest.raises(LanguageError, match="reached by only some threads"):
            interpret(kernel, np.zeros(8, np.int32), np.zeros(8, np.int32))


def test_block_operations_under_a_condition_of_the_block():
    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "int32"), Y: T.Tensor((4, 8), "int32")):
        with T.Kernel(4, threads=8) as b:
            tx = T.get_thread_binding()
            s = T.alloc_shared((8,), "int32")
            if b % 2 == 0:
                T.copy(A[b, 0:8], s)
                Y[b, tx] = s[7 - tx]

    a, y = sample("int32", (4, 8)), np.zeros((4, 8), np.int32)
    interpret(kernel, a, y)
    expected = a[:, ::-1].copy()
    expected[1::2] = 0
    np.testing.assert_array_equal(y, expected)


def test_tile_operations_on_private_memory_are_done_by_each_thread():
    @T.prim_func
    def kernel(A: T.Tensor((8, 4), "float16"), Y: T.Tensor((8, 4), "float32"), Z: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            mine, total = T.alloc_local((4,), "float32"), T.alloc_local((1,), "float32")
            if tx != 3:
                T.copy(A[tx, 0:4], mine)
            else:
                T.fill(mine, 5.0)
            T.reduce_sum(mine, total, dim=0)
            T.copy(mine, Y[7 - tx, 0:4])
            Z[tx] = total[0]

    a = sample("float16", (8, 4))
    y, z = np.zeros((8, 4), np.float32), np.zeros(8, np.float32)
    interpret(kernel, a, y, z)
    expected = a.astype(np.float32)
    expected[3] = 5
    np.testing.assert_array_equal(y, expected[::-1])
    np.testing.assert_allclose(z, expected.sum(1), rtol=1e-6)


def test_threads_copying_to_one_place_race():
    @T.prim_func
    def kernel(A: T.Tensor((8, 4), "int32"), Y: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=8):
            mine = T.alloc_local((4,), "int32")
            T.copy(A[T.get_thread_binding(), 0:4], mine)
            T.copy(mine, Y)

    with pytest.raises(RaceError, match=r"two threads write different values to Y\[0\]"):
        interpret(kernel, sample("int32", (8, 4)), np.zeros(4, np.int32))


def test_parallel_loops_use_private_values_that_all_threads_share():
    @T.prim_func
    def kernel(Y: T.Tensor((16,), "int32"), Z: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            mine = T.alloc_local((2,), "int32")
            mine[0] = 3
            mine[1] = tx
            for i in T.Parallel(16):
                Y[i] = i * mine[0]
            Z[tx] = mine[1]

    y, z = np.zeros(16, np.int32), np.zeros(8, np.int32)
    interpret(kernel, y, z)
    assert y.tolist() == [3 * k for k in range(16)]
    assert z.tolist() == list(range(8))


def test_parallel_loops_do_not_use_private_values_that_differ():
    @T.prim_func
    def memory(Y: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=8):
            mine = T.alloc_local((1,), "int32")
            mine[0] = T.get_thread_binding()
            for i in T.Parallel(16):
                Y[i] = i * mine[0]

    @T.prim_func
    def index(Y: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            for i in T.Parallel(16):
                Y[i] = i * tx

    with pytest.raises(UninitialisedReadError, match=r"mine\[0\]"):
        interpret(memory, np.zeros(16, np.int32))
    with pytest.raises(InterpreterError, match=r"tx, used in T\.Parallel, differs between threads"):
        interpret(index, np.zeros(16, np.int32))


def test_private_memory_written_in_parallel_is_written_for_all_threads():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32"), Y: T.Tensor((8, 4), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), "int32")
            for i in T.Parallel(4):
                mine[i] = A[i] * 2
            for k in T.serial(4):
                Y[tx, k] = mine[k] + tx

    a, y = sample("int32", 4), np.zeros((8, 4), np.int32)
    interpret(kernel, a, y)
    np.testing.assert_array_equal(y, 2 * a[None, :] + np.arange(8)[:, None])


def test_threads_may_stand_in_bounds_of_parallel_loops_only_when_equal():
    @T.prim_func
    def kernel(Y: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=8):
            n = T.alloc_var("int32", init=T.get_thread_binding() * 0 + 5)
            for i in T.Parallel(n):
                Y[i] = i + n

    y = np.zeros(16, np.int32)
    interpret(kernel, y)
    assert y.tolist() == [5, 6, 7, 8, 9] + [0] * 11


def test_variables_that_all_threads_share_may_stand_in_parallel_loops():
    @T.prim_func
    def kernel(Y: T.Tensor((16,), "int32"), Z: T.Tensor((8,), "int32")):
        with T.Kernel(3, threads=8) as b:
            tx = T.get_thread_binding()
            same = tx * 0 + b
            Z[tx] = tx
            for i in T.Parallel(4):
                Y[same * 4 + i] = i + same

    y = np.zeros(16, np.int32)
    interpret(kernel, y, np.zeros(8, np.int32))
    assert y.tolist() == [0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 0, 0, 0, 0]


def test_a_while_loop_in_which_no_thread_starts():
    @T.prim_func
    def kernel(Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            n = T.alloc_var("int32", init=100)
            while n + tx < 8:
                n = n + 1
            T.fill(Y[tx : tx + 1], n + tx)

    with pytest.raises(InterpreterError, match="place of the tile of Y differs between threads"):
        interpret(kernel, np.zeros(8, np.int32))


def test_private_tiles_are_filled_with_values_of_each_thread():
    @T.prim_func
    def kernel(Y: T.Tensor((8, 3), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            mine = T.alloc_local((3,), "int32")
            T.fill(mine, tx * 2)
            T.copy(mine, Y[tx, 0:3])

    y = np.zeros((8, 3), np.int32)
    interpret(kernel, y)
    np.testing.assert_array_equal(y, np.repeat(np.arange(8)[:, None] * 2, 3, 1))
