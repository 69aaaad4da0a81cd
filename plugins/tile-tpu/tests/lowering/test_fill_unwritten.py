"""fill_unwritten: which local buffers begin with 0, and how they are filled."""

from __future__ import annotations

import pytest
from by_hand import LANES, alloc, do, element, environment, local, piece, tensor, tile
from one_pass import around_pass, changes
from tile_tpu.ir.instructions import as_command
from tile_tpu.ir.views import View
from tile_tpu.lowering.passes.fill_unwritten import FILL_UNWRITTEN
from tile_tpu.lowering.state import GuardedBuffers

import tilecore.language as T
from tilecore.ir.build import const, seq, statements_of
from tilecore.ir.nodes import AttrStmt, DeclBuffer, IfThenElse, IterVar, PrimFunc, Range, Var, tirx
from tilecore.testing.kernel_text import lines

PASS = "fill_unwritten"


# -- kernels of the language --------------------------------------------------------------------------------------


def masked(first, rows=64):
    """``first(X, a, bx)``, and then a store to the tile ``a`` in some iterations."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, 16), "float32"), Y: T.Tensor((128, 16), "float32"), n: T.int32):
        with T.Kernel(2) as bx:
            a = T.alloc_shared((64, 16), "float32")
            first(X, a, bx, n)
            for i, j in T.Parallel(64, 16):
                if j > i:
                    a[i, j] = a[i, j] + 1.0
            T.copy(a, Y[bx * 64, 0])

    return kernel


@T.macro
def nothing(X, a, bx, n):
    pass


@T.macro
def loaded(X, a, bx, n):
    T.copy(X[0, 0], a)


@T.macro
def loaded_tail(X, a, bx, n):
    T.copy(X[bx * 64, 0], a)


@T.macro
def cleared(X, a, bx, n):
    T.clear(a)


@T.macro
def loaded_half(X, a, bx, n):
    T.copy(X[0:32, 0:16], a[0:32, 0:16])


@T.macro
def loaded_if(X, a, bx, n):
    if n > 3:
        T.copy(X[0, 0], a)


@T.macro
def loaded_in_both_branches(X, a, bx, n):
    if n > 3:
        T.copy(X[0, 0], a)
    else:
        T.clear(a)


@T.macro
def loaded_in_a_loop(X, a, bx, n):
    for _ in T.serial(2):
        T.copy(X[0, 0], a)


@T.macro
def loaded_in_a_loop_of_unknown_length(X, a, bx, n):
    for _ in T.serial(n):
        T.copy(X[0, 0], a)


FILL = "+ T.tpu.fill(T.tpu.view(a, 0, 0, 1, 64, 1, 16, 16, 16, 16, 1), T.float32(0.0))"


@pytest.mark.parametrize("first", [nothing, loaded_half, loaded_if, loaded_in_a_loop_of_unknown_length])
def test_buffers_that_may_be_unwritten_are_filled(first):
    before, after, _ = around_pass(masked(first), PASS)
    assert changes(before, after) == FILL


@pytest.mark.parametrize("first", [loaded, cleared, loaded_in_both_branches, loaded_in_a_loop])
def test_buffers_that_are_written_first_are_not_filled(first):
    before, after, env = around_pass(masked(first), PASS)
    assert [str(buffer.name) for buffer in env.state(GuardedBuffers).buffers] == ["a"]
    assert changes(before, after) == ""


def test_a_load_that_the_end_of_the_tensor_cuts_fills_the_tile():
    before, after, _ = around_pass(masked(loaded_tail, 100), PASS)
    assert changes(before, after) == ""


def test_the_fill_follows_the_allocation():
    _, after, _ = around_pass(masked(nothing), PASS)
    first = str(after.script()).split("a = T.alloc_buffer")[1].splitlines()[1].strip()
    assert f"+ {first}" == FILL


def test_memory_that_no_condition_concerns_stays_as_it_is():
    """Even where nothing was written to it: a command that reads all of it is the user's."""

    @T.prim_func
    def kernel(Y: T.Tensor((64, 16), "float32"), n: T.int32):
        with T.Kernel(1):
            a = T.alloc_shared((64, 16), "float32")
            for i, j in T.Parallel(64, 16):
                if n > 3:  # for all iterations
                    a[i, j] = a[i, j] + 1.0
            T.copy(a, Y)

    before, after, env = around_pass(kernel, PASS)
    assert env.state(GuardedBuffers).buffers == set()
    assert after.same_as(before)


def test_both_operands_of_a_choice_are_filled():
    """``b`` is also read in the iterations in which the condition does not hold."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64,), "float32")
            b = T.alloc_shared((64,), "float32")
            T.copy(X, a)
            for i in T.Parallel(64):
                if a[i] > 0.0:
                    a[i] = b[i]
            T.copy(a, Y)

    assert changes(*around_pass(kernel, PASS)[:2]) == lines(
        "+ T.tpu.fill(T.tpu.view(b, 0, 0, 1, 64, 1, 16, 16, 16, 16, 1), T.float32(0.0))"
    )


def test_kernels_are_looked_at_one_by_one():
    @T.prim_func
    def kernels(X: T.Tensor((64, 16), "float32"), Y: T.Tensor((64, 16), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64, 16), "float32")
            T.copy(X, a)
            for i, j in T.Parallel(64, 16):
                if j > i:
                    a[i, j] = a[i, j] + 1.0
            T.copy(a, Y)
        with T.Kernel(1):
            b = T.alloc_shared((64, 16), "float32")
            for i, j in T.Parallel(64, 16):
                if j > i:
                    b[i, j] = b[i, j] + 1.0
            T.copy(b, Y)

    assert changes(*around_pass(kernels, PASS)[:2]) == FILL.replace("(a,", "(b,")


# -- by hand ------------------------------------------------------------------------------------------------------

X = tensor("X")


def filled(*body, guarded, chip="bm1690"):
    """The fills that the pass adds: (offset, shape, value) of each."""
    block = IterVar(Range.from_min_extent(const(0, "int32"), const(1, "int32")), Var("bx", "int32"), 1, "blockIdx.x")
    kernel = AttrStmt(block, "thread_extent", const(1, "int32"), seq([*body]))
    func = PrimFunc([X], kernel).with_attr("global_symbol", "made")
    env = environment(chip=chip)
    env.state(GuardedBuffers).buffers.update(guarded)
    after = FILL_UNWRITTEN.run(func, env)
    before = statements_of(kernel.body)
    (kernel,) = statements_of(after.body)
    added = [s for s in statements_of(kernel.body) if not any(s.same_as(old) for old in before)]
    fills = [as_command(s) for s in added]
    assert {fill.instruction.name for fill in fills} <= {"fill"}
    return [(f.operands["dst"], f.operands["value"]) for f in fills]


@pytest.mark.parametrize(
    ("size", "parts"),
    [(1, [1]), (65535, [65535]), (65536, [65535, 1]), (140000, [65535, 65535, 8930])],
)
def test_a_view_has_at_most_65535_columns(size, parts):
    a = local("a", size, "int8")
    fills = filled(*alloc(a), do("store", piece(X), tile(a)), guarded={a})
    assert [view.shape[3] for view, _ in fills] == parts
    assert [view.offset for view, _ in fills] == [65535 * n for n in range(len(parts))]
    assert all(view.shape[:3] == (1, LANES, 1) for view, _ in fills)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "uint8", "int32"])
def test_0_has_the_type_of_the_memory(dtype):
    a = local("a", 64, dtype)
    ((view, value),) = filled(*alloc(a), do("store", piece(X), tile(a)), guarded={a})
    assert view == View(a, 0, 0, (1, LANES, 1, 64), (64, 64, 64, 1))
    assert str(value.ty.dtype) == dtype
    assert value.value == 0


def test_all_lanes_of_the_chip_are_filled():
    a = local("a")
    ((view, _),) = filled(*alloc(a), do("store", piece(X), tile(a)), guarded={a}, chip="bm1688")
    assert view.shape == (1, 32, 1, 64)


def test_only_the_memory_of_the_state_is_filled():
    a, b = local("a"), local("b")
    reads = [do("store", piece(X), tile(a)), do("store", piece(X), tile(b))]
    assert [view.buffer for view, _ in filled(*alloc(a, b), *reads, guarded={b})] == [b]


def test_an_element_that_the_control_core_reads_first():
    a = local("a")
    store = IfThenElse(element(a) > const(0.0, "float32"), do("load", tile(a), piece(X)), None)
    assert len(filled(*alloc(a), store, guarded={a})) == 1
    assert filled(*alloc(a), do("load", tile(a), piece(X)), store, guarded={a}) == []


def test_memory_with_another_name_is_filled_in_doubt():
    a, view = local("a"), local("view", 64, "int32")
    alias = DeclBuffer(view, data=tirx.buffer_data(a))
    fills = filled(*alloc(a), alias, do("load", tile(view), piece(X)), do("store", piece(X), tile(a)), guarded={a})
    assert [view.buffer for view, _ in fills] == [a]


def test_memory_of_no_kernel_stays_as_it_is():
    a = local("a")
    func = PrimFunc([X], seq([*alloc(a), do("store", piece(X), tile(a))])).with_attr("global_symbol", "made")
    env = environment()
    env.state(GuardedBuffers).buffers.add(a)
    assert str(FILL_UNWRITTEN.run(func, env)) == str(func)
