"""T.Parallel: iteration spaces, masks, nests, scratch memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import LanguageError, OutOfBoundsError, RaceError, UninitialisedReadError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    Break,
    BufferLoad,
    BufferStore,
    Continue,
    FloatImm,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Return,
    Var,
    tirx,
)
from tilecore.ir.tile_ops import tile_statement

from .kit import block, buffer, function, launch, sample, whole


def parallel(var, extent, body, start=0, step=None):
    return For(var, start, extent, ForKind.PARALLEL, body, step=step)


def test_a_nest_covers_its_space_in_any_rank():
    @T.prim_func
    def kernel(Y: T.Tensor((2, 3, 4, 5), "int32")):
        with T.Kernel(1):
            for i, j, k, m in T.Parallel(2, 3, 4, 5):
                Y[i, j, k, m] = i * 1000 + j * 100 + k * 10 + m

    y = np.zeros((2, 3, 4, 5), np.int32)
    interpret(kernel, y)
    i, j, k, m = np.indices(y.shape)
    np.testing.assert_array_equal(y, i * 1000 + j * 100 + k * 10 + m)


def test_accesses_outside_global_buffers_are_masked():
    @T.prim_func
    def kernel(A: T.Tensor((5,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(20):
                Y[i - 4] = A[i - 6] + 1

    a, y = sample("float32", 5), np.zeros(8, np.float32)
    interpret(kernel, a, y)
    assert y.tolist() == [1.0, 1.0, *(a + 1).tolist(), 1.0]
    with pytest.raises(OutOfBoundsError, match=r"A\[-2\] is outside A \(i = 4"):  # from there on Y[i - 4] is inside
        interpret(kernel, a, y, strict=True)


def test_masks_hold_for_values_not_for_conditions_of_loops():
    a, y, i, k = buffer("A", (4,), "int32"), buffer("Y", (8,), "int32"), Var("i", "int32"), Var("k", "int32")
    inner = For(k, 0, BufferLoad(a, [i]), ForKind.SERIAL, BufferStore(y, k, [i]))
    with pytest.raises(OutOfBoundsError, match=r"A\[4\]"):
        interpret(function([a, y], launch(parallel(i, 8, inner), 1)), np.ones(4, np.int32), np.zeros(8, np.int32))


def test_on_chip_accesses_are_not_masked():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "float32")
            T.copy(A, s)
            for i in T.Parallel(8):
                Y[i] = s[i + 1]

    with pytest.raises(OutOfBoundsError, match=r"s\[8\] is outside s \(i = 7"):
        interpret(kernel, sample("float32", 8), np.zeros(8, np.float32))


def test_a_guard_keeps_lanes_from_going_outside():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "float32")
            T.copy(A, s)
            for i in T.Parallel(8):
                if i < 7:
                    Y[i] = s[i + 1]
                else:
                    Y[i] = T.if_then_else(i > 7, s[i + 1], -1.0)

    a, y = sample("float32", 8), np.zeros(8, np.float32)
    interpret(kernel, a, y)
    assert y.tolist() == [*a[1:].tolist(), -1.0]


@settings(max_examples=30, deadline=None)
@given(bounds=st.lists(st.integers(0, 6), min_size=1, max_size=8), stop=st.integers(0, 7), skip=st.integers(0, 7))
def test_serial_loops_inside_have_bounds_and_jumps_of_their_own(bounds, stop, skip):
    n = len(bounds)

    @T.prim_func
    def kernel(B: T.Tensor((n,), "int32"), Y: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = 0
                for k in T.serial(B[i]):
                    if k + i == stop:
                        break
                    if k == skip:
                        continue
                    Y[i] += k + 1

    def reference(i, bound):
        total = 0
        for k in range(bound):
            if k + i == stop:
                break
            if k == skip:
                continue
            total += k + 1
        return total

    y = np.zeros(n, np.int32)
    interpret(kernel, np.int32(bounds), y)
    assert y.tolist() == [reference(i, b) for i, b in enumerate(bounds)]


def test_while_runs_until_no_lane_is_left():
    @T.prim_func
    def kernel(X: T.Tensor((30,), "int32"), Y: T.Tensor((30,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(30):
                v = T.alloc_var("int32")
                n = T.alloc_var("int32")
                v = X[i]
                n = 0
                while v > 1:
                    v = T.if_then_else(v % 2 == 0, v // 2, 3 * v + 1)
                    n = n + 1
                Y[i] = n

    def collatz(v):
        n = 0
        while v > 1:
            v, n = (v // 2 if v % 2 == 0 else 3 * v + 1), n + 1
        return n

    x, y = np.arange(30, dtype=np.int32), np.zeros(30, np.int32)
    interpret(kernel, x, y)
    assert y.tolist() == [collatz(v) for v in range(30)]


def test_continue_ends_an_iteration():
    x, y, i = buffer("X", (10,), "int32"), buffer("Y", (10,), "int32"), Var("i", "int32")
    value = BufferLoad(x, [i])
    stop = IfThenElse(value < 0, Continue(), None)
    body = block(BufferStore(y, IntImm("int32", -1), [i]), stop, BufferStore(y, value * 2, [i]))
    a, out = sample("int32", 10), np.zeros(10, np.int32)
    interpret(function([x, y], launch(parallel(i, 10, body), 1)), a, out)
    assert out.tolist() == [-1 if v < 0 else 2 * int(v) for v in a]


def test_break_and_return_do_not_leave_it():
    i = Var("i", "int32")
    with pytest.raises(LanguageError, match="break leaves"):
        interpret(function([], launch(parallel(i, 4, Break()), 1)))
    with pytest.raises(LanguageError, match="return stands inside"):
        interpret(function([], launch(parallel(i, 4, Return(IntImm("int32", 0))), 1)))


def test_start_and_step():
    y, i = buffer("Y", (20,), "int32"), Var("i", "int32")
    out = np.zeros(20, np.int32)
    interpret(function([y], launch(parallel(i, 14, BufferStore(y, i, [i]), start=3, step=5), 1)), out)
    assert np.flatnonzero(out).tolist() == [3, 8, 13]


def test_variables_bound_between_loops_keep_a_nest_perfect():
    y, i, j, v = buffer("Y", (4, 5), "int32"), Var("i", "int32"), Var("j", "int32"), Var("v", "int32")
    nest = parallel(i, 4, block(Bind(v, i * 10), parallel(j, 5, BufferStore(y, v + j, [i, j]))))
    out = np.zeros((4, 5), np.int32)
    interpret(function([y], launch(nest, 1)), out)
    assert out.tolist() == [[10 * a + b for b in range(5)] for a in range(4)]


def test_an_inner_extent_may_depend_on_the_outer_iteration():
    y, i, j = buffer("Y", (6, 6), "int32"), Var("i", "int32"), Var("j", "int32")
    nest = parallel(i, 6, parallel(j, i + 1, BufferStore(y, i + j, [i, j])))
    out = np.full((6, 6), -1, np.int32)
    interpret(function([y], launch(nest, 1)), out)
    assert out.tolist() == [[a + b if b <= a else -1 for b in range(6)] for a in range(6)]


def test_no_iterations_at_all():
    y, i, j = buffer("Y", (6, 6), "int32"), Var("i", "int32"), Var("j", "int32")
    for first, second in ((0, 3), (3, 0), (-2, 3)):
        out = np.zeros((6, 6), np.int32)
        nest = parallel(i, first, parallel(j, second, BufferStore(y, IntImm("int32", 1), [i, j])))
        interpret(function([y], launch(nest, 1)), out)
        assert not out.any()


# -- imperfect nests ---------------------------------------------------------------------------------------------


def imperfect(inner_index):
    """s[i] = i; for j: Y[i, j] = s[...] + j"""
    y, s = buffer("Y", (4, 5), "int32"), buffer("s", (4,), "int32", "shared.dyn")
    i, j = Var("i", "int32"), Var("j", "int32")
    inner = parallel(j, 5, BufferStore(y, BufferLoad(s, [inner_index(i, j)]) + j, [i, j]))
    nest = parallel(i, 4, block(BufferStore(s, i * 100, [i]), inner))
    return function([y], launch(block(AllocBuffer(s), nest), 1))


def test_statements_before_an_inner_loop_come_first_in_their_iteration():
    out = np.zeros((4, 5), np.int32)
    interpret(imperfect(lambda i, j: i), out)
    assert out.tolist() == [[100 * a + b for b in range(5)] for a in range(4)]


def test_other_iterations_of_the_outer_loop_do_not_come_first():
    with pytest.raises(RaceError, match=r"reads s\["):
        interpret(imperfect(lambda i, j: tirx.Mod(i + 1, IntImm("int32", 4))), np.zeros((4, 5), np.int32))


def siblings(index):
    """for j: s[i, j] = j; for j: Y[i, j] = s[i, ...]"""
    y, s = buffer("Y", (4, 5), "int32"), buffer("s", (4, 5), "int32", "shared.dyn")
    i, j, k = Var("i", "int32"), Var("j", "int32"), Var("k", "int32")
    first = parallel(j, 5, BufferStore(s, i * 10 + j, [i, j]))
    second = parallel(k, 5, BufferStore(y, BufferLoad(s, [i, index(k)]), [i, k]))
    return function([y], launch(block(AllocBuffer(s), parallel(i, 4, block(first, second))), 1))


def test_two_inner_loops_share_an_iteration_when_their_indices_agree():
    out = np.zeros((4, 5), np.int32)
    interpret(siblings(lambda k: k), out)
    assert out.tolist() == [[10 * a + b for b in range(5)] for a in range(4)]
    with pytest.raises(RaceError, match="another iteration of the inner loop writes it"):
        interpret(siblings(lambda k: IntImm("int32", 4) - k), np.zeros((4, 5), np.int32))


def test_inner_iterations_race_with_each_other():
    y, i, j = buffer("Y", (4,), "int32"), Var("i", "int32"), Var("j", "int32")
    nest = parallel(i, 4, block(BufferStore(y, IntImm("int32", 0), [i]), parallel(j, 5, BufferStore(y, j, [i]))))
    with pytest.raises(RaceError, match="different values"):
        interpret(function([y], launch(nest, 1)), np.zeros(4, np.int32))


# -- scratch -----------------------------------------------------------------------------------------------------


def weighted_rows(inside):
    a, y, row = buffer("A", (6, 4)), buffer("Y", (6,)), buffer("row", (4,), scope="local")
    i, k = Var("i", "int32"), Var("k", "int32")
    fill = For(k, 0, 4, ForKind.SERIAL, BufferStore(row, BufferLoad(a, [i, k]) * 2.0, [k]))
    r = [BufferLoad(row, [index]) for index in range(4)]
    use = BufferStore(y, r[0] + r[1] * r[2] - r[3], [i])
    if inside:
        body = parallel(i, 6, block(AllocBuffer(row), fill, use))
    else:
        body = block(AllocBuffer(row), parallel(i, 6, block(fill, use)))
    return function([a, y], launch(body, 1))


@pytest.mark.parametrize("inside", [True, False])
def test_private_memory_is_scratch_of_each_iteration(inside):
    a, y = sample("float32", (6, 4)), np.zeros(6, np.float32)
    interpret(weighted_rows(inside), a, y)
    b = a.astype(np.float64) * 2
    fused = (b[:, 0] + b[:, 1] * b[:, 2]).astype(np.float32)
    np.testing.assert_array_equal(y, fused - a[:, 3] * 2)


def test_scratch_starts_with_the_value_from_before():
    @T.prim_func
    def kernel(Y: T.Tensor((6,), "int32")):
        with T.Kernel(1):
            v = T.alloc_var("int32", init=10)
            for i in T.Parallel(6):
                v = v + i
                Y[i] = v

    y = np.zeros(6, np.int32)
    interpret(kernel, y)
    assert y.tolist() == [10, 11, 12, 13, 14, 15]


def test_after_the_loop_scratch_is_unwritten_where_iterations_differ():
    @T.prim_func
    def kernel(Y: T.Tensor((6,), "int32"), Z: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            same, other = T.alloc_var("int32", init=1), T.alloc_var("int32", init=2)
            for i in T.Parallel(6):
                same = 7
                other = i
                Y[i] = same + other
            Z[0] = same
            Z[1] = other

    with pytest.raises(UninitialisedReadError, match=r"other\[0\]") as caught:
        interpret(kernel, np.zeros(6, np.int32), z := np.zeros(2, np.int32))
    assert "left different values" in str(caught.value)
    assert z[0] == 7


def test_private_memory_at_the_index_of_the_iteration_is_ordinary():
    @T.prim_func
    def kernel(A: T.Tensor((6,), "int32"), Y: T.Tensor((6,), "int32")):
        with T.Kernel(1):
            v = T.alloc_local((6,), "int32")
            for i in T.Parallel(6):
                v[i] = A[i] + 1
            for i in T.Parallel(6):
                Y[i] = v[5 - i]

    a, y = sample("int32", 6), np.zeros(6, np.int32)
    interpret(kernel, a, y)
    assert y.tolist() == (a[::-1] + 1).tolist()


def test_scratch_of_a_triangular_nest_counts_only_its_iterations():
    y, i, j = buffer("Y", (3, 3), "int32"), Var("i", "int32"), Var("j", "int32")
    v, z = buffer("v", (1,), "int32", "local.var"), buffer("Z", (1,), "int32")
    body = block(BufferStore(v, IntImm("int32", 5), [0]), BufferStore(y, BufferLoad(v, [0]), [i, j]))
    nest = parallel(i, 3, parallel(j, i + 1, body))
    after = BufferStore(z, BufferLoad(v, [0]), [0])
    out, last = np.zeros((3, 3), np.int32), np.zeros(1, np.int32)
    interpret(function([y, z], launch(block(AllocBuffer(v), nest, after), 1)), out, last)
    assert out.tolist() == [[5, 0, 0], [5, 5, 0], [5, 5, 5]]
    assert last[0] == 5


def test_block_memory_is_not_allocated_inside():
    s, i = buffer("s", (4,), scope="shared.dyn"), Var("i", "int32")
    with pytest.raises(LanguageError, match="s is allocated inside"):
        interpret(function([], launch(parallel(i, 4, AllocBuffer(s)), 1)))


@pytest.mark.parametrize("name", ["sync_threads"])
def test_block_operations_do_not_stand_inside(name):
    i = Var("i", "int32")
    with pytest.raises(LanguageError, match=r"T\.sync_threads stands inside"):
        interpret(function([], launch(parallel(i, 4, tile_statement(name, [])), 1)))


def test_conditions_in_iterations_are_per_lane():
    y, i = buffer("Y", (6,), "int32"), Var("i", "int32")
    body = IfThenElse(i > 2, BufferStore(y, i, [i]), BufferStore(y, -i, [i]))
    out = np.zeros(6, np.int32)
    interpret(function([y], launch(parallel(i, 6, body), 1)), out)
    assert out.tolist() == [0, -1, -2, 3, 4, 5]


def test_statements_after_an_inner_loop_come_last_in_their_iteration():
    def kernel(row):
        y, s = buffer("Y", (4,), "int32"), buffer("s", (4, 5), "int32", "shared.dyn")
        i, j, k = Var("i", "int32"), Var("j", "int32"), Var("k", "int32")
        inner = parallel(j, 5, BufferStore(s, i * 10 + j, [i, j]))
        total = BufferLoad(s, [row(i), 0]) + BufferLoad(s, [row(i), 4])
        again = parallel(k, 5, BufferStore(s, BufferLoad(s, [i, k]) + 1, [i, k]))
        nest = parallel(i, 4, block(inner, BufferStore(y, total, [i]), again))
        return function([y], launch(block(AllocBuffer(s), nest), 1))

    out = np.zeros(4, np.int32)
    interpret(kernel(lambda i: i), out)
    assert out.tolist() == [20 * a + 4 for a in range(4)]
    with pytest.raises(RaceError, match="another one writes") as caught:
        interpret(kernel(lambda i: IntImm("int32", 3) - i), np.zeros(4, np.int32))
    assert caught.value.found == "the one at i = 3, block (0,) writes it"


@pytest.mark.parametrize("writer", [0, 1])
def test_an_outer_access_does_not_hide_inner_ones(writer):
    y, z, s = buffer("Y", (4, 5)), buffer("Z", (4,)), buffer("s", (4, 2), scope="shared.dyn")
    i, j, k = Var("i", "int32"), Var("j", "int32"), Var("k", "int32")
    read = parallel(j, 5, BufferStore(y, BufferLoad(s, [i, 0]), [i, j]))
    again = BufferStore(z, BufferLoad(s, [i, 0]), [i])
    write = parallel(k, 5, IfThenElse(k.equal(0), BufferStore(s, FloatImm("float32", 1), [i, writer]), None))
    zero = tile_statement("fill", [whole(s), FloatImm("float32", 0)])
    main = function([y, z], launch(block(AllocBuffer(s), zero, parallel(i, 4, block(read, again, write))), 1))
    arrays = np.zeros((4, 5), np.float32), np.zeros(4, np.float32)
    if writer == 0:
        with pytest.raises(RaceError, match=r"writes s\[0, 0\], which another one reads"):
            interpret(main, *arrays)
    else:
        interpret(main, *arrays)


def test_unchecked_scratch_keeps_the_last_value():
    @T.prim_func
    def kernel(Y: T.Tensor((6,), "int32"), Z: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            v = T.alloc_var("int32", init=1)
            for i in T.Parallel(6):
                v = v + i
                Y[i] = v
            Z[0] = v

    y, z = np.zeros(6, np.int32), np.zeros(1, np.int32)
    interpret(kernel, y, z, check=False)
    assert y.tolist() == [1, 2, 3, 4, 5, 6]
    assert z[0] == 6


def test_scratch_that_only_some_iterations_wrote_is_unwritten_after():
    @T.prim_func
    def kernel(Y: T.Tensor((6,), "int32"), Z: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            v = T.alloc_var("int32")
            for i in T.Parallel(6):
                if i < 3:
                    v = -1  # the bits of fresh memory
                    Y[i] = v
            Z[0] = v

    with pytest.raises(UninitialisedReadError, match=r"v\[0\]"):
        interpret(kernel, np.zeros(6, np.int32), np.zeros(1, np.int32))


def test_scratch_that_all_iterations_wrote_alike_is_written_after():
    @T.prim_func
    def kernel(Y: T.Tensor((6,), "int32"), Z: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            v = T.alloc_var("int32")
            for i in T.Parallel(6):
                v = -1  # the bits of fresh memory
                Y[i] = v * i
            Z[0] = v

    y, z = np.zeros(6, np.int32), np.zeros(1, np.int32)
    interpret(kernel, y, z)
    assert z[0] == -1
