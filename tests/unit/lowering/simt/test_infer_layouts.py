"""infer_layouts: which thread holds which element of each fragment, and which fragments go to shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import LanguageError

from ..one_pass import around_pass, before_and_after
from .kit import code_of_threads, same_results

PASS = "infer_layouts"


def layouts(kernel):
    """What ``kernel.explain()`` says of each fragment, by its name."""
    _, _, env = around_pass(kernel, PASS)
    return {row["buffer"]: row for row in env.report.get("layouts", [])}


def in_shared_memory(kernel):
    """The fragments that were moved to shared memory, with the reasons."""
    rows = layouts(kernel).values()
    return {row["buffer"]: row["layout"].partition(": ")[2] for row in rows if "shared memory" in row["layout"]}


def normalizing_rows(m, n, threads):
    @T.prim_func
    def kernel(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m, n), "float32"), S: T.Tensor((m,), "float32")):
        with T.Kernel(1, threads=threads):
            row, total = T.alloc_fragment((m, n), "float32"), T.alloc_fragment((m,), "float32")
            T.copy(X, row)
            T.reduce_sum(row, total, dim=1)
            for i, j in T.Parallel(m, n):
                row[i, j] = row[i, j] - total[i]
            T.copy(row, Y)
            T.copy(total, S)

    return kernel


# -- what follows from what ------------------------------------------------------------------------------------------


def test_a_fragment_follows_the_loops_that_read_memory_in_order():
    row = layouts(normalizing_rows(16, 64, 128))["row"]
    assert (row["thread"], row["register"]) == ("i % 8 * 16 + j / 4", "i / 8 * 4 + j % 4")
    assert row["copies"] == 1


def test_of_equal_loops_those_that_access_tensors_decide():
    """Not the one that is first: neighbours of float16 are moved 8 at once, and 4 of the float32 that it fills."""

    @T.prim_func
    def kernel(X: T.Tensor((4096,), "float16"), Y: T.Tensor((4096,), "float16")):
        with T.Kernel(1, threads=128):
            largest, tile = T.alloc_fragment((4096,), "float32"), T.alloc_fragment((4096,), "float32")
            T.fill(largest, 0)
            T.copy(X, tile)
            for i in T.Parallel(4096):
                largest[i] = T.max(largest[i], tile[i])
            T.copy(largest, Y)

    found = layouts(kernel)
    assert found["largest"]["register"] == found["tile"]["register"]
    assert found["tile"]["register"].endswith("j % 8") or "i % 8" in found["tile"]["register"]


def test_the_result_of_a_reduction_is_where_its_source_was():
    """Each of the 16 threads that hold parts of a row gets the row's sum."""
    total = layouts(normalizing_rows(16, 64, 128))["total"]
    assert (total["thread"], total["register"], total["copies"]) == ("i % 8 * 16", "i / 8", 16)


def test_the_accumulator_of_a_product_decides_first():
    """The copies and the loop that use it follow, though they would divide it otherwise by themselves."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a, c, d = T.alloc_shared((32, 32), "float32"), *(T.alloc_fragment((32, 32), "float32") for _ in range(2))
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                d[i, j] = c[i, j] + 1
            T.copy(d, C)

    rows = layouts(kernel)
    assert rows["c"]["thread"] == rows["d"]["thread"]
    assert rows["c"]["register"] == rows["d"]["register"]


def test_the_code_stays_where_every_fragment_has_a_layout():
    before, after = before_and_after(normalizing_rows(16, 64, 128), PASS)
    assert before == after


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 64), st.integers(1, 130), st.sampled_from([32, 64, 96, 128]))
def test_reductions_and_loops_agree_whatever_the_shape(m, n, threads):
    kernel = normalizing_rows(m, n, threads)
    assert not in_shared_memory(kernel)
    x = np.random.default_rng(0).integers(-9, 9, (m, n)).astype(np.float32)
    _, y, s = same_results(kernel, x, np.zeros_like(x), np.zeros(m, np.float32))
    np.testing.assert_array_equal(s, x.sum(axis=1))
    np.testing.assert_array_equal(y, x - x.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("threads", [32, 64, 96, 128])
@pytest.mark.parametrize("shape", [(4, 128), (1, 1000), (64, 8), (3, 5), (7, 33), (1, 1)], ids=str)
def test_a_layout_has_a_register_for_each_element_and_copy(shape, threads):
    row = layouts(normalizing_rows(*shape, threads))["row"]
    assert row["shape"] == list(shape)
    assert row["threads"] == threads
    assert row["threads"] * row["registers"] >= np.prod(shape) * row["copies"]


# -- what goes to shared memory --------------------------------------------------------------------------------------


def moving(body, shape=(64,), dtype="float32"):
    """body: a macro that takes a fragment, which holds X, and Y."""

    @T.prim_func
    def kernel(X: T.Tensor(shape, dtype), Y: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=32):
            f = T.alloc_fragment(shape, dtype)
            T.copy(X, f)
            body(f, Y)

    return kernel


@T.macro
def in_reverse(f, Y):
    for i in T.Parallel(64):
        Y[i] = f[63 - i]


@T.macro
def outside_of_loops(f, Y):
    T.copy(f, Y)
    Y[0] = f[5] + 1


@T.macro
def as_another_type(f, Y):
    g = T.view(f, (64,), "int32")
    for i in T.Parallel(64):
        Y[i] = T.Cast("float32", g[i] >> 23)


REASONS = {
    in_reverse: ("an index of f[63 - i] is no sum of parts of the loop variables", lambda x: x[::-1]),
    outside_of_loops: (
        "used outside of T.Parallel and tile operations",
        lambda x: np.concatenate([x[5:6] + 1, x[1:]]),
    ),
    as_another_type: ("it is viewed with another element type", lambda x: x.view(np.int32) >> 23),
}


@pytest.mark.parametrize("body", REASONS, ids=lambda body: body.__name__)
def test_a_fragment_without_a_layout_goes_to_shared_memory(body):
    reason, expected = REASONS[body]
    kernel = moving(body)
    assert in_shared_memory(kernel) == dict.fromkeys(["f", "g"] if body is as_another_type else ["f"], reason)
    before, after = before_and_after(kernel, PASS)
    assert 'f = T.alloc_buffer((64,), scope="local.fragment"' in before
    assert "f = T.alloc_shared((64,), layout=None)" in after
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(same_results(kernel, x, np.zeros_like(x))[1], expected(x))


def test_of_two_places_that_hold_it_differently_both_get_what_they_need():
    @T.macro
    def transposed(f, Y):
        for i, j in T.Parallel(8, 16):
            f[i, j] = f[i, j] * 2
        for j, i in T.Parallel(16, 8):
            Y[i, j] = f[i, j] + 1

    kernel = moving(transposed, (8, 16))
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    np.testing.assert_array_equal(same_results(kernel, x, np.zeros_like(x))[1], x * 2 + 1)


def test_a_loop_of_a_size_that_is_known_at_run_time():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            f = T.alloc_fragment((64,), "float32")
            T.copy(X, f)
            for i in T.Parallel(n):
                Y[i] = f[i]

    assert in_shared_memory(kernel) == {"f": "a loop whose size is known at run time only runs over it"}
    x = np.arange(64, dtype=np.float32)
    for size in (1, 40, 64):
        np.testing.assert_array_equal(same_results(kernel, x, np.zeros(size, np.float32))[1], x[:size])


# -- copies for one loop ---------------------------------------------------------------------------------------------


def notes(kernel):
    _, _, env = around_pass(kernel, PASS)
    return [row["text"] for row in env.report.get("notes", [])]


def summing(read):
    """read: a macro that takes the accumulator of products in a loop, the sums of its rows, and Y."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 32, 32), "float32"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=64):
            x, f = T.alloc_shared((32, 32), "float32"), T.alloc_fragment((32, 32), "float32")
            rows, total = T.alloc_fragment((32,), "float32"), T.alloc_fragment((32,), "float32")
            T.clear(f)
            T.clear(total)
            for k in T.serial(4):
                T.copy(X[k, :, :], x)
                T.gemm(x, x, f)
                T.reduce_sum(f, rows, dim=1)
                for i in T.Parallel(32):
                    total[i] = total[i] + rows[i]
            read(f, total, Y)

    return kernel


@T.macro
def reversed_rows(f, total, Y):
    for i, j in T.Parallel(32, 32):
        Y[i, j] = f[31 - i, j]


@T.macro
def columns_of_totals(f, total, Y):
    for j, i in T.Parallel(32, 32):
        Y[i, j] = total[j] + i


@pytest.mark.parametrize("read", [reversed_rows, columns_of_totals], ids=lambda read: read.__name__)
def test_a_loop_behind_the_products_reads_a_copy(read):
    kernel = summing(read)
    assert not in_shared_memory(kernel)
    name = "f" if read is reversed_rows else "total"
    assert [text.partition(" for ")[0] for text in notes(kernel)] == [f"{name} is copied to shared memory"]
    x = np.random.default_rng(0).integers(-4, 5, (4, 32, 32)).astype(np.float32)
    sums = np.cumsum([m @ m for m in x], axis=0)
    result = same_results(kernel, x, np.zeros((32, 32), np.float32))[1]
    totals = sums.sum(axis=(0, 2))
    expected = sums[-1][::-1] if read is reversed_rows else totals[None, :] + np.arange(32)[:, None]
    np.testing.assert_array_equal(result, expected)


# -- ranges of threads -----------------------------------------------------------------------------------------------


def test_code_of_a_range_is_partitioned_over_its_threads():
    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((2, 256), "float32")):
        with T.Kernel(1, threads=192):
            a, f = T.alloc_fragment((256,), "float32"), T.alloc_fragment((256,), "float32")
            with code_of_threads(0, 64):
                T.copy(X, a)
                T.copy(a, Y[0, :])
            with code_of_threads(64, 128):
                T.copy(X, f)
                T.copy(f, Y[1, :])

    rows = layouts(kernel)
    assert {name: (row["threads"], row["registers"]) for name, row in rows.items()} == {"a": (64, 4), "f": (128, 2)}


def test_a_view_belongs_to_the_range_that_uses_its_fragment():
    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=192):
            f = T.alloc_fragment((256,), "float32")
            rows = T.reshape(f, (16, 16))
            with code_of_threads(64, 128):
                T.copy(X, f)
                for i, j in T.Parallel(16, 16):
                    rows[i, j] += i
                T.copy(f, Y)

    found = layouts(kernel)
    assert {name: (row["threads"], row["registers"]) for name, row in found.items()} == {
        "f": (128, 2),
        "rows": (128, 2),
    }


def test_a_fragment_that_two_ranges_use_by_a_view_is_refused():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=128):
            f = T.alloc_fragment((128,), "float32")
            rows = T.reshape(f, (8, 16))
            with code_of_threads(0, 64):
                T.copy(X, f)
            with code_of_threads(64, 64):
                T.copy(rows, Y)

    with pytest.raises(LanguageError, match="f is held in registers of threads 0 to 63 and used by threads 64 to 127"):
        around_pass(kernel, PASS)


def test_a_fragment_of_two_ranges_is_refused():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            f = T.alloc_fragment((128,), "float32")
            with code_of_threads(0, 64):
                T.copy(X, f)
            with code_of_threads(64, 64):
                T.copy(f, Y)

    with pytest.raises(LanguageError, match="f is held in registers of threads 0 to 63 and used by threads 64 to 127"):
        around_pass(kernel, PASS)


def test_a_temporary_result_without_a_layout_moves_its_source_to_shared_memory():
    """The minima of columns that each thread computes alone are read by a larger loop: the temporary fragment of the
    reduction has no layout either, nor has a temporary fragment of that. The search came to no end."""
    rows, columns = 4, 16

    @T.prim_func
    def kernel(
        X: T.Tensor((columns, rows), "float32"),
        S: T.Tensor((columns, columns), "int32"),
        Y: T.Tensor((columns,), "float32"),
    ):
        with T.Kernel(1, threads=96):
            s = T.alloc_shared((columns, columns), "int32")
            total = T.alloc_fragment((columns,), "int32")
            values = T.alloc_fragment((rows, columns), "float32")
            least = T.alloc_fragment((columns,), "float32")
            T.copy(S, s)
            T.reduce_sum(s, total, dim=-1)
            for i in T.Parallel(rows):
                for j in T.serial(columns):
                    before = T.if_then_else(j >= 1, total[j - 1], 0)
                    values[i, j] = X[j, i] + T.cast(before, "float32")
            T.reduce_min(values, least, dim=0)
            T.copy(least, Y)

    random = np.random.default_rng(0)
    x = random.integers(-9, 9, (columns, rows)).astype(np.float32)
    s = random.integers(-9, 9, (columns, columns)).astype(np.int32)
    same_results(kernel, x, s, np.zeros(columns, np.float32))
