"""Kernels that do not fit the chip, and slow kernels: errors and explain() name the user's line."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from error_kernels import product

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, LaunchError, UnsupportedError

SIM = {"target": "tpu", "execution_backend": "sim"}


def line_of(function, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_tiles_too_large_for_local_memory():
    with pytest.raises(UnsupportedError, match="of local memory in each lane") as caught:
        tilecore.compile(product(4096, 2048), **SIM)
    error = caught.value
    assert error.location is not None
    assert error.location.line == line_of(product, "c = T.alloc_fragment")
    assert "c 262144, used on lines" in error.found  # the map, largest first
    assert error.found.index("c 262144") < error.found.index("a 131072") < error.found.index("b 131072")
    assert "at most 262144 bytes in a lane of bm1690" in error.expected
    assert "smaller tiles" in error.hint
    with pytest.raises(UnsupportedError, match="131072 bytes in a lane of bm1688"):
        tilecore.compile(product(2048, 1024), target="tpu -chip=bm1688", execution_backend="sim")


def test_stages_that_do_not_fit_are_left_out():
    """A kernel is tried with one copy of each tile before it is refused; explain() reports it."""
    kernel = tilecore.compile(product(2560, 1280, stages=4), **SIM)
    assert "do not fit into local memory" in str(kernel.explain())


@pytest.mark.parametrize(("dtype", "sums"), [("float64", "float64"), ("int64", "int64"), ("int16", "int32")])
def test_types_without_a_matrix_product_are_right_and_reported_as_slow(dtype, sums):
    kernel = tilecore.compile(product(48, 24, dtype, sums), **SIM)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (48, 48)).astype(dtype) for _ in range(2))
    c = np.zeros((48, 48), sums)
    kernel(a, b, c)
    assert np.array_equal(c, a.astype(sums) @ b.astype(sums))
    explained = str(kernel.explain())
    assert f"the matrix unit has no product of {dtype} and {dtype}" in explained
    assert "scalar loops" in explained


def test_numbers_of_four_bits_stay_with_the_control_core():
    @T.prim_func
    def more(A: T.Tensor((8, 64), "int4"), B: T.Tensor((8, 64), "int4")):
        with T.Kernel(1):
            tile = T.alloc_shared((8, 64), "int4")
            T.copy(A, tile)
            for i, j in T.Parallel(8, 64):
                tile[i, j] = tile[i, j] + T.int4(1)
            T.copy(tile, B)

    explained = str(tilecore.compile(more, **SIM).explain())
    line = line_of(more.function, "in T.Parallel")
    assert f"line {line}: on the control core: no engine supports int4, the element type of tile" in explained


def test_operands_that_do_not_fit_together():
    with pytest.raises(LanguageError, match=r"K of A \(16\) does not match K of B \(32\)") as caught:

        @T.prim_func
        def wrong(C: T.Tensor((32, 32), "float32")):
            with T.Kernel(1):
                a, b = T.alloc_shared((32, 16), "float16"), T.alloc_shared((32, 32), "float16")
                c = T.alloc_fragment((32, 32), "float32")
                T.gemm(a, b, c)
                T.copy(c, C)

    assert "transpose_A=False" in caught.value.found
    assert caught.value.location is not None


@pytest.mark.parametrize("form", [(False, False), (False, True), (True, False), (True, True)])
def test_every_transpose_has_a_way(form):
    left, right = form

    @T.prim_func
    def mm(A: T.Tensor((40, 40), "float16"), B: T.Tensor((40, 40), "float16"), C: T.Tensor((40, 40), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((40, 40), "float16"), T.alloc_shared((40, 40), "float16")
            c = T.alloc_fragment((40, 40), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_A=left, transpose_B=right, clear_accum=True)
            T.copy(c, C)

    a, b = torch.randn(40, 40).half(), torch.randn(40, 40).half()
    c = torch.zeros(40, 40)
    tilecore.compile(mm, **SIM)(a, b, c)
    expected = (a.T if left else a).float() @ (b.T if right else b).float()
    assert torch.allclose(c, expected, atol=1e-4)


def extern():
    @T.prim_func
    def calls(A: T.Tensor((32,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(32):
                A[i] = T.call_extern("float32", "their_function", A[i])

    return calls


def imported():
    @T.prim_func
    def brings(A: T.Tensor((32,), "float32")):
        with T.Kernel(1):
            T.import_source("static float their_function(float x) { return x; }")
            for i in T.Parallel(32):
                A[i] = A[i] + 1

    return brings


@pytest.mark.parametrize(
    ("make", "words", "line"),
    [
        (extern, "T.call_extern of their_function is for targets that compile source text", "T.call_extern("),
        (imported, "T.import_source is for targets that compile source text", "T.import_source("),
    ],
)
def test_foreign_code_is_refused(make, words, line):
    with pytest.raises(UnsupportedError) as caught:
        tilecore.compile(make(), **SIM)
    assert words in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.line == line_of(make, line)
    assert "language" in caught.value.hint


@T.prim_func
def talks(A: T.Tensor((4,), "float32")):
    with T.Kernel(1):
        tile = T.alloc_shared((4,), "float32")
        T.copy(A, tile)
        for i in T.Parallel(4):
            tile[i] = tile[i] * 2
        T.print(tile[3])
        T.print(tile, msg="whole")
        T.device_assert(tile[0] > 0, "the first is positive")
        T.copy(tile, A)


def test_print_and_device_assert(capfd):
    kernel = tilecore.compile(talks, **SIM)
    x = np.array([1, 2, 3, 4], np.float32)
    kernel(x)
    output = capfd.readouterr().out
    assert "8" in output.splitlines()[0]
    assert [line.split()[-1] for line in output.splitlines()[1:]] == ["2", "4", "6", "8"]
    assert x.tolist() == [2, 4, 6, 8]
    with pytest.raises(LaunchError, match="the first is positive") as caught:
        kernel(np.zeros(4, np.float32))
    assert f"test_bad_kernels.py:{line_of(talks.function, 'T.device_assert')}" in str(caught.value)
