"""note_ranges: ranges of threads are checked, and tile operations know how many threads execute them."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.ir.thread_ranges import has_ranges
from tilecore.testing.kernel_text import lines

from ..one_pass import after_pass, around_pass, before_and_after
from .kit import code_of_threads

PASS = "note_ranges"


def kernel_of(body, threads=128):
    """body: a macro that takes two tensors."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=threads):
            body(X, Y)

    return kernel


def test_operations_in_ranges_get_the_number_of_threads_and_each_range_one_index():
    @T.macro
    def body(X, Y):
        with code_of_threads(0, 64):
            T.copy(X, Y)
        with code_of_threads(64, 64):
            T.copy(X, Y)
            with code_of_threads(96, 32):
                T.copy(X, Y)
        with code_of_threads(0, 64):
            T.copy(X, Y)
        T.copy(X, Y)

    copy = 'T.Call("tile.copy", [X[0:128], Y[0:128]], attrs={"threads": %d}, ret_ty="void")'
    assert after_pass(kernel_of(body), PASS) == lines(
        f"""
        with threads(0, 64) as thread_0:
            {copy % 64}
        with threads(64, 64) as thread_64:
            {copy % 64}
            with threads(96, 32) as thread_96:
                {copy % 32}
        with threads(0, 64) as thread_0:
            {copy % 64}
        T.tile.copy(X[0:128], Y[0:128])
        """
    )


def test_a_range_of_all_threads_is_removed():
    @T.macro
    def body(X, Y):
        with code_of_threads(0, 64):
            T.copy(X, Y)

    _, after, _ = around_pass(kernel_of(body, threads=64), PASS)
    assert not has_ranges(after.body)


def test_a_range_in_the_same_range_is_removed():
    @T.macro
    def body(X, Y):
        with code_of_threads(64, 64):
            with code_of_threads(64, 64):
                T.copy(X, Y)

    assert after_pass(kernel_of(body), PASS).count("threads(64, 64)") == 1


def test_kernels_with_different_numbers_of_threads_note_them_everywhere():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=32):
            T.copy(X, Y)
        with T.Kernel(1, threads=64):
            T.copy(Y, X)

    after = after_pass(kernel, PASS)
    assert '[X[0:128], Y[0:128]], attrs={"threads": 32}' in after
    assert '[Y[0:128], X[0:128]], attrs={"threads": 64}' in after


def test_kernels_without_ranges_stay():
    @T.macro
    def body(X, Y):
        for _ in T.serial(3):
            T.copy(X, Y)
        T.sync_threads()

    before, after = before_and_after(kernel_of(body), PASS)
    assert before == after


@pytest.mark.parametrize(
    ("first", "count", "words", "code_range"),
    [
        (128, 64, "threads that do not reach it", "threads 128 to 191; the block has 128 threads"),
        (64, 128, "threads that do not reach it", "threads 64 to 191; the block has 128 threads"),
        (0, 16, "a part of a warp", "threads 0 to 15"),
        (16, 32, "a part of a warp", "threads 16 to 47"),
    ],
)
def test_ranges_that_are_wrong(first, count, words, code_range):
    @T.macro
    def body(X, Y):
        with code_of_threads(first, count):
            T.copy(X, Y)

    with pytest.raises(LanguageError, match=words) as caught:
        after_pass(kernel_of(body), PASS)
    assert f"found: code for {code_range}" in str(caught.value)
    assert caught.value.location is not None


def test_a_range_outside_of_the_range_around_it():
    @T.macro
    def body(X, Y):
        with code_of_threads(0, 64):
            with code_of_threads(64, 32):
                T.copy(X, Y)

    with pytest.raises(LanguageError, match="threads that do not reach it") as caught:
        after_pass(kernel_of(body), PASS)
    assert "only threads 0 to 63 reach this code" in str(caught.value)


def test_a_barrier_of_more_threads_than_the_range_has():
    @T.macro
    def body(X, Y):
        with code_of_threads(0, 64):
            T.sync_threads(1, 64)
            T.copy(X, Y)
            T.sync_threads(2, 128)  # here

    with pytest.raises(
        LanguageError, match=r"T\.sync_threads waits for 128 threads in code that 64 threads execute"
    ) as caught:
        after_pass(kernel_of(body), PASS)
    assert "arrive_count=128 in the code of threads 0 to 63" in str(caught.value)
    assert "# here" in caught.value.location.excerpt()


def test_an_operation_keeps_the_type_of_its_result():
    @T.macro
    def body(X, Y):
        with code_of_threads(0, 64):
            T.atomic_add(Y[0], X[0])

    text = str(after_pass(kernel_of(body), PASS))
    assert "atomic_element" in text
    assert text.count('attrs={"threads": 64}, ret_ty="float32")') == 1
