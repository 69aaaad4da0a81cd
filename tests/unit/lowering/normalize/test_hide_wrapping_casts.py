"""hide_wrapping_casts: integer casts that may wrap become casts that TVM's analyzer says nothing of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.dtypes import FACTS
from tilecore.ir.nodes import Analyzer, BufferStore, For, structural_mutate
from tilecore.ir.ranges import binding_loops
from tilecore.testing.kernel_text import lines

from ..one_pass import LOOPS, SIMT, after_pass, around_pass, before_and_after, interpreted

PASS = "hide_wrapping_casts"
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def cast_twice(extent, factor, offset, dtype):
    """An index that is cast to ``dtype`` and back, whether that is a multiple of 3."""

    @T.prim_func
    def kernel(Y: T.Tensor((extent,), "bool"), Z: T.Tensor((extent,), "int64")):
        with T.Kernel(1, threads=32):
            for i in T.serial(extent):
                value = T.cast(T.cast(i * factor + offset, dtype), "int64")
                Y[i] = value % 3 == 0
                Z[i] = value

    return kernel


@pytest.mark.parametrize("target", [SIMT, LOOPS])
def test_a_cast_that_may_wrap_is_a_cast_to_the_sibling_and_its_bits(target):
    before, after = before_and_after(cast_twice(8, 300, 0, "uint8"), PASS, target)
    assert 'T.Cast("int64", T.Cast("uint8", i * 300))' in before
    assert 'T.Cast("int64", T.reinterpret("uint8", T.Cast("int8", i * 300)))' in after


@pytest.mark.parametrize(
    ("extent", "factor", "offset", "dtype", "may_wrap"),
    [
        (128, 1, 0, "int8", False),
        (129, 1, 0, "int8", True),
        (256, 1, 0, "uint8", False),
        (257, 1, 0, "uint8", False),  # it claims 0 to 255, which is right of every uint8
        (257, 1, 1, "uint8", True),  # it claims 1 to 255, but 256 becomes 0
        (8, 1, -1, "uint8", True),
        (8, -1, 0, "int8", False),
        (1, 1, 0, "uint32", False),
        (8, 1000, 0, "int64", False),
    ],
)
def test_casts_that_keep_every_value_stay(extent, factor, offset, dtype, may_wrap):
    before, after = before_and_after(cast_twice(extent, factor, offset, dtype), PASS)
    assert (before != after) == may_wrap


def test_casts_of_which_the_analyzer_claims_nothing_stay():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32"), F: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            for i in T.Parallel(8):
                Y[i] = T.cast(X[i], "int8") + T.cast(F[i], "int32") + T.cast(X[i] > 0, "int32")

    before, after = before_and_after(kernel, PASS)
    assert before == after


def test_the_sign_of_an_unsigned_number_is_decided():
    @T.prim_func
    def kernel(n: T.uint32, Y: T.Tensor((6,), "bool"), Z: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=32):
            zero = T.cast(0, "uint32")
            Y[0] = n < zero
            Y[1] = n >= zero
            Y[2] = zero > n
            Y[3] = zero <= n
            Y[4] = n > zero
            Y[5] = n < T.cast(1, "uint32")
            Z[0] = T.if_then_else(n < zero, 1, Z[1])

    assert after_pass(kernel, PASS) == lines(
        """
        Y[0] = T.bool(False)
        Y[1] = T.bool(True)
        Y[2] = T.bool(False)
        Y[3] = T.bool(True)
        Y[4] = n > T.uint32(0)
        Y[5] = n < T.uint32(1)
        Z[0] = Z[1]
        """
    )


def test_a_signed_number_keeps_its_comparison_with_zero():
    @T.prim_func
    def kernel(n: T.int32, Y: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            Y[0] = T.if_then_else(n < 0, 1, T.if_then_else(n >= 0, 2, 3))

    before, after = before_and_after(kernel, PASS)
    assert before == after


def simplified(func):
    """The function with each stored value simplified by TVM's analyzer, which knows the ranges of the loops."""
    analyzer = Analyzer()

    def store(node, mutator):
        return BufferStore(node.buffer, analyzer.simplify(node.value), list(node.indices))

    return func.with_body(structural_mutate(func.body, [(For, binding_loops(analyzer)), (BufferStore, store)]))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(-70000, 70000), st.integers(-(2**31), 2**31 - 1), st.sampled_from(INTEGERS))
def test_simplification_is_right_after_the_pass(extent, factor, offset, dtype):
    low, high = FACTS["int32"].integer_range
    ends = (offset, (extent - 1) * factor + offset)
    if not all(low <= end <= high for end in ends) or not low <= (extent - 1) * factor <= high:
        return  # the index itself would wrap, which the language leaves undefined
    _, after, _ = around_pass(cast_twice(extent, factor, offset, dtype), PASS)
    values = (np.arange(extent, dtype=np.int64) * factor + offset).astype(dtype).astype(np.int64)
    is_multiple, value = interpreted(simplified(after), np.zeros(extent, bool), np.zeros(extent, np.int64))
    np.testing.assert_array_equal(value, values)
    np.testing.assert_array_equal(is_multiple, values % 3 == 0)


def test_without_the_pass_the_analyzer_takes_a_wrapped_number_for_the_number():
    """The fault that the pass is for. If this fails, TVM has mended it and the pass may go."""
    before, after, _ = around_pass(cast_twice(128, 3, 0, "uint8"), PASS)
    values = (np.arange(128) * 3).astype(np.uint8)
    wrong, right = (
        interpreted(simplified(f), np.zeros(128, bool), np.zeros(128, np.int64))[0] for f in (before, after)
    )
    np.testing.assert_array_equal(right, values % 3 == 0)
    assert (wrong != (values % 3 == 0)).any()


def test_the_extent_of_threads_is_known():
    @T.prim_func
    def kernel(Y: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            Y[tx] = T.cast(T.cast(tx * 8, "uint8"), "int32") + T.cast(T.cast(tx * 9, "uint8"), "int32")

    after = after_pass(kernel, PASS)
    assert 'T.Cast("uint8", tx * 8)' in after  # 248 at most
    assert 'T.reinterpret("uint8", T.Cast("int8", tx * 9))' in after
