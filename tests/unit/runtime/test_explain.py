"""kernel.explain(): what was chosen for each operation, why others declined, layouts, vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilecore
import tilecore.language as T


@pytest.fixture(scope="module")
def kernel(module_cache):
    @T.prim_func
    def product(
        A: T.Tensor((32, 15), "float32"), B: T.Tensor((15, 64), "float32"), C: T.Tensor((32, 64), "float32"),
        S: T.Tensor((1,), "float32"),
    ):  # fmt: skip
        with T.Kernel(1):  # the tiles of A and B reach beyond their tensors: they must be copied
            a, b = T.alloc_shared((32, 16), "float32"), T.alloc_shared((16, 64), "float32")
            c = T.alloc_fragment((32, 64), "float32")
            T.clear(c)
            T.copy(A[0, 0], a)
            T.copy(B[0, 0], b)
            T.gemm(a, b, c)
            T.copy(c, C)
            for i in T.Parallel(32):
                T.atomic_add(S[0], A[i, 0])

    return tilecore.compile(product, target="cpu -march=generic")


def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_every_operation_has_its_line_and_its_implementation(kernel):
    text = str(kernel.explain())
    assert text.startswith("product on cpu -")
    assert "execution backend native" in text.splitlines()[0]
    assert f"{kernel.artifact.entries[0].symbol}: grid (1, 1, 1)" in text
    assert f"line {line_of('T.gemm(a, b, c)')}: gemm: " in text
    for line in ("T.copy(A[0, 0], a)", "T.copy(B[0, 0], b)"):
        assert f"line {line_of(line)}: copy: loops" in text
    assert f"line {line_of('T.copy(c, C)')}: the sums are accumulated in C itself" in text
    chosen = [row for row in kernel.explain().data["tile_ops"] if row["op"] == "gemm"]
    assert len(chosen) == 1
    declined = dict(chosen[0]["declined"])
    assert declined, "the dot products of narrow types are no use for float32"
    for name, reason in declined.items():
        assert f"not {name}: {reason}" in text
        assert reason


def test_loops_that_stayed_scalar_have_their_line_and_reason(kernel):
    place = f"line {line_of('for i in T.Parallel(32):')}: "
    scalar = str(kernel.explain()).partition("scalar loops:\n")[2]
    assert scalar.startswith(f"  {place}no axis has its elements adjacent in memory\n")


def test_loops_that_became_vectors_have_their_line_axis_and_width(kernel):
    vectors = str(kernel.explain()).partition("vectorized loops:\n")[2].partition("scalar loops")[0]
    assert f"  line {line_of('T.copy(A[0, 0], a)')}: 4 lanes along j\n" in vectors, "of 128 bits"
    assert f"  line {line_of('T.gemm(a, b, c)')}: 4 lanes along j\n" in vectors, "the columns of a register tile"
    assert len(set(vectors.splitlines())) == len(vectors.splitlines())


def test_layouts_are_told(kernel):
    assert {row["buffer"] for row in kernel.explain().data["layouts"]} == {"b"}
    layout = kernel.explain().data["layouts"][0]["layout"]
    assert f"b: {layout}" in str(kernel.explain())


def test_times_of_the_steps(kernel):
    assert set(kernel.explain().data["steps"]) == {"lower", "emit", "build"}
    last = str(kernel.explain()).splitlines()[-1]
    assert last.startswith("compile time: lower ")
    passes = [row["name"] for row in kernel.explain().data["passes"]]
    assert passes.index("lower_tile_ops") < passes.index("vectorize_loops") < passes.index("outline_kernels")


def test_it_is_plain_data(kernel):
    data = kernel.explain().data
    assert json.loads(json.dumps(data)) == data
    assert repr(kernel.explain()) == str(kernel.explain())
