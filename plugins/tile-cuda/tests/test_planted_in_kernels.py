"""Compiled kernels with a bug planted in the emitted source: the simulated device reports the user's line."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from tile_cuda.simulated import simulated_adapter

import tilecore
import tilecore.language as T
from tilecore.runtime.launcher import Launcher
from tilecore.simulate.errors import SimulationError
from tilecore.target import Target

TARGET = "cuda -arch=sm_90"
HERE = Path(__file__)


@T.prim_func
def product(A: T.Tensor((64, 128), "float16"), B: T.Tensor((128, 64), "float16"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, 2, threads=64) as (_, by):
        a, b = T.alloc_shared((32, 32), "float16"), T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((32, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[by * 32, k * 32], a)
            T.copy(B[k * 32, 0], b)
            T.gemm(a, b, c)  # the product
        T.copy(c, C[by * 32, 0])


@T.prim_func
def gathered(
    A: T.Tensor((64, 128), "float16"),
    rows: T.Tensor((64,), "int32"),
    B: T.Tensor((128, 64), "float16"),
    C: T.Tensor((64, 64), "float32"),
):
    with T.Kernel(1, 2, threads=64) as (_, by):
        a, b = T.alloc_shared((32, 32), "float16"), T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((32, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(4, num_stages=2):
            for i, j in T.Parallel(32, 32):
                a[i, j] = A[rows[by * 32 + i], k * 32 + j]
            T.copy(B[k * 32, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 32, 0])


@T.prim_func
def softmax(X: T.Tensor((4, 512), "float32"), Y: T.Tensor((4, 512), "float32")):
    with T.Kernel(4, threads=128) as row:
        x, most = T.alloc_fragment((1, 512), "float32"), T.alloc_fragment((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(X[row, 0], x)
        T.reduce_max(x, most, dim=1)
        for i, j in T.Parallel(1, 512):
            x[i, j] = T.exp(x[i, j] - most[i])
        T.reduce_sum(x, total, dim=1)  # the sum
        for i, j in T.Parallel(1, 512):
            x[i, j] = x[i, j] / total[i]
        T.copy(x, Y[row, 0])


@T.prim_func
def stencil(X: T.Tensor((1000,), "float32"), Y: T.Tensor((1000,), "float32")):
    with T.Kernel(T.ceildiv(1000, 128), threads=128) as b:
        tile = T.alloc_shared((130,), "float32")
        for i in T.Parallel(130):
            tile[i] = X[b * 128 + i - 1]  # the fill
        for i in T.Parallel(128):
            Y[b * 128 + i] = tile[i] + 2.0 * tile[i + 1] + tile[i + 2]  # the stencil


def arguments(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Inputs and an output, and the expected output."""
    rng = np.random.default_rng(0)
    if name == "product":
        a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 128), (128, 64)))
        return [a, b, np.zeros((64, 64), np.float32)], a.astype(np.float32) @ b.astype(np.float32)
    if name == "softmax":
        x = rng.standard_normal((4, 512)).astype(np.float32)
        e = np.exp(x - x.max(1, keepdims=True))
        return [x, np.zeros_like(x)], e / e.sum(1, keepdims=True)
    x = rng.integers(-9, 10, 1000).astype(np.float32)
    wide = np.pad(x, 1)
    return [x, np.zeros_like(x)], wide[:-2] + 2 * wide[1:-1] + wide[2:]


@pytest.fixture
def kernels(installed, adapter):
    """The kernels by name; the kernel cache makes later compilations quick."""
    compiled_kernels = [
        tilecore.compile(f, target=TARGET, execution_backend="sim") for f in (product, softmax, stencil)
    ]
    return {kernel.artifact.name: kernel for kernel in compiled_kernels}


@pytest.fixture(scope="module")
def adapter():
    adapter = simulated_adapter()
    present = adapter.available(Target("cuda", {}))
    if not present.present:
        pytest.skip(present.detail)
    return adapter


def run(adapter, kernel, source: str, args: list[np.ndarray]) -> None:
    planted = dataclasses.replace(kernel.artifact, source=source)
    Launcher(planted, adapter.load(planted), adapter, 1)(*args)


def plant(source: str, pattern: str, replacement: str, which: int | None = None) -> str:
    """The source with all matches of ``pattern`` replaced, or the match of index ``which`` only."""
    matches = list(re.finditer(pattern, source))
    assert matches, f"{pattern} is not in\n{source}"
    chosen = matches if which is None else [matches[which]]
    for match in reversed(chosen):
        source = source[: match.start()] + match.expand(replacement) + source[match.end() :]
    return source


def user_lines(*marks: str) -> set[str]:
    """The lines of this file that end with one of these marks."""
    lines = HERE.read_text().splitlines()
    return {f"{HERE.name}:{n}" for n, text in enumerate(lines, 1) for mark in marks if text.endswith(mark)}


# kernel, pattern, replacement, which of the matches; kinds that may come first, words of the help, marked user's lines
BUGS = {
    "a dropped barrier of a pipeline": (
        "product", r"\n *tc_barrier\(\);", "", -1, {"race", "missing_wait", "uninitialised"}, "barrier|wait", None,
    ),
    "a wait that is off by one": (
        "product", r"tc_wait_async<0>", "tc_wait_async<1>", None, {"missing_wait"}, "wait", None,
    ),
    "a double buffer whose slots are one": (
        "product", r"\(k \+ 1\) % 2( \* \d+[^;]*, A \+)", r"k % 2\1", None,
        {"race", "missing_wait", "uninitialised"}, "barrier|wait", None,
    ),
    "a writer that turns columns less than the reader": (
        "product", r"\^ \(tx % 8 / 2\)", "^ (tx % 8 / 2 % 2)", None, {"swizzle_mismatch"}, "swizzle",
        ("# the product",),
    ),
    "a writer that does not turn columns": (
        "product", r"\^ \(tx % 8 / 2\)", "^ 0", None, {"swizzle_mismatch"}, "swizzle", ("# the product",),
    ),
    "a reduction over warps without its barrier": (
        "softmax", r"\n *tc_barrier\(\);", "", -1, {"race", "uninitialised"}, "barrier|written|write", ("# the sum",),
    ),
    "a barrier at two places": (
        "softmax", r"tc_barrier\(\);", r"if (tx < 64)\n    tc_barrier();\n  else\n    tc_barrier();", 0,
        {"divergent_barrier"}, "every thread", None,
    ),
    "a collective that some lanes leave out": (
        "softmax", r"(const float \w+ = )(tc_shuffle_xor\(\w+, 16, 32\))", r"\1tx % 32 < 30 ? \2 : 0.0f", 0,
        {"mismatched_collective", "divergent_barrier"}, "lanes|warp|threads", None,
    ),
    "a tile that is one element short": (
        "stencil", r"< 130\b", "< 129", None, {"uninitialised"}, "written|write", ("# the stencil",),
    ),
    "a fill and a use without a barrier": (
        "stencil", r"\n *tc_barrier\(\);", "", None, {"race", "uninitialised"}, "barrier|written|write",
        ("# the fill", "# the stencil"),
    ),
    "a guard that is off by one": (
        "stencil", r"if \((b \* 128 \+ tx) < 1000\)", r"if (\1 < 1001)", None, {"out_of_bounds"}, "bound|guard|index",
        ("# the stencil",),
    ),
    "an index that is off by one": (
        "stencil", r"tile\[tx \+ 2\]", "tile[tx + 3]", None, {"out_of_bounds"}, "bound|guard|index", ("# the stencil",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ["product", "softmax", "stencil"])
def test_what_is_emitted_is_right(kernels, adapter, name):
    args, expected = arguments(name)
    run(adapter, kernels[name], kernels[name].get_kernel_source(), args)
    np.testing.assert_allclose(args[-1], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_named(kernels, adapter, bug):
    name, pattern, replacement, which, kinds, help_words, marks = BUGS[bug]
    args, _ = arguments(name)
    source = plant(kernels[name].get_kernel_source(), pattern, replacement, which)
    with pytest.raises(SimulationError) as caught:
        run(adapter, kernels[name], source, args)
    error = caught.value
    assert error.kind in kinds, str(error)
    assert error.kernel.startswith(f"{name}_kernel_")  # and its sizes
    assert error.hint is not None
    assert re.search(help_words, error.hint), error.hint
    assert error.user_line is not None, str(error)
    if marks:
        assert error.user_line in user_lines(*marks), str(error)
    assert error.user_line in str(error)


@pytest.mark.parametrize("order", ["random", "pairs", "wrapped", "one"])
def test_rows_at_any_offset_are_not_swizzled(installed, adapter, order):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 128), (128, 64)))
    rows = {
        "random": rng.integers(0, 64, 64),
        "pairs": np.arange(64) // 2,
        "wrapped": np.arange(64) // 4 * 6 % 59 + np.arange(64) % 4,
        "one": np.full(64, 7),
    }[order].astype(np.int32)
    c = np.zeros((64, 64), np.float32)
    kernel = tilecore.compile(gathered, target=TARGET, execution_backend="sim")
    assert "tc_copy_async" in kernel.get_kernel_source()
    run(adapter, kernel, kernel.get_kernel_source(), [a, rows, b, c])
    np.testing.assert_array_equal(c, a[rows].astype(np.float32) @ b.astype(np.float32))
