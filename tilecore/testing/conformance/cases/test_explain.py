"""kernel.explain() and the source: whatever the kernel, they name it, its functions and the lines they speak of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilecore.language as T
from tilecore.ir.names import TILE_OP_NAMES

from .kit import compiled
from .on_device import bare


@T.prim_func
def product(A: T.Tensor((64, 96), "float16"), B: T.Tensor((96, 64), "float16"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        a, b = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(3, num_stages=2):
            T.copy(A[0, k * 32], a)
            T.copy(B[k * 32, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C)


@T.prim_func
def rows(X: T.Tensor((32, 64), "float32"), Y: T.Tensor((32, 64), "float32")):
    with T.Kernel(4, threads=64) as block:
        x, most = T.alloc_fragment((8, 64), "float32"), T.alloc_fragment((8,), "float32")
        T.copy(X[block * 8, 0], x)
        T.reduce_max(x, most, dim=1)
        for i, j in T.Parallel(8, 64):
            Y[block * 8 + i, j] = T.exp(x[i, j] - most[i])


@T.prim_func
def threads(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
    with T.Kernel(2, threads=32) as block:
        tx = T.get_thread_binding()
        tile = T.alloc_shared((32,), "int32")
        tile[tx] = X[block * 32 + tx]
        T.sync_threads()
        Y[block * 32 + tx] = tile[31 - tx]


@T.prim_func
def counts(X: T.Tensor((64,), "int32"), Y: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            T.atomic_add(Y[X[i] % 8], 1)


@T.prim_func
def twice(X: T.Tensor((T.dynamic("n"),), "float32")):
    n = X.shape[0]
    with T.Kernel(T.ceildiv(n, 32), threads=32) as block:
        for i in T.Parallel(32):
            if block * 32 + i < n:
                X[block * 32 + i] = X[block * 32 + i] * 2
    with T.Kernel(T.ceildiv(n, 64), threads=32) as block:
        for i in T.Parallel(64):
            if block * 64 + i < n:
                X[block * 64 + i] = X[block * 64 + i] + 1


KERNELS = {func.__name__: func for func in (product, rows, threads, counts, twice)}
LINES = Path(__file__).read_text().splitlines()


def lines_of(name):
    """The numbers of the lines of a kernel of this file."""
    first = next(number for number, line in enumerate(LINES, 1) if line.startswith(f"def {name}("))
    after = (number for number, line in enumerate(LINES[first:], first + 1) if line and not line.startswith(" "))
    return range(first, next(after, len(LINES)))


@pytest.mark.parametrize("name", KERNELS)
def test_explanations(target, name):
    kernel = bare(compiled(KERNELS[name], target))
    explanation = kernel.explain()
    text = str(explanation)
    assert text.startswith(f"{name} on {kernel.artifact.target}, execution backend {kernel.execution_backend}")
    for entry in kernel.artifact.entries:
        assert f"  {entry.symbol}: grid (" in text
    assert len(kernel.artifact.entries) >= (2 if name == "twice" else 1)
    assert json.loads(json.dumps(explanation.data)) == explanation.data, "it is plain data"
    assert repr(explanation) == text
    assert set(explanation.data["steps"]) == {"lower", "emit", "build"}
    assert text.splitlines()[-1].startswith("compile time: lower ")
    assert [row["name"] for row in explanation.data["passes"]], "no pass ran"


@pytest.mark.parametrize("name", ["product", "rows"])
def test_operations_are_told_with_their_lines(target, name):
    kernel = bare(compiled(KERNELS[name], target))
    if kernel.backend.lowering.family == "none":
        pytest.skip("its pipeline is all its own")
    rows = kernel.explain().data.get("tile_ops", ())
    operations = {"product": {"gemm", "copy"}, "rows": {"reduce", "copy"}}[name]
    assert {row["op"] for row in rows} >= operations
    text = str(kernel.explain())
    for row in rows:
        assert row["op"] in TILE_OP_NAMES
        assert row["implementation"]
        assert row["line"] in lines_of(name), row
        words = {"gemm": "T.gemm(", "reduce": "T.reduce_max("}.get(row["op"])
        assert words is None or words in LINES[row["line"] - 1]
        assert f"line {row['line']}: {row['op']}: {row['implementation']}" in text
        assert all(reason for _, reason in row.get("declined", ())), "declined, and nothing says why"


@pytest.mark.parametrize("name", KERNELS)
def test_the_source_has_every_function(target, name):
    kernel = bare(compiled(KERNELS[name], target))
    source = kernel.get_kernel_source()
    assert source.strip()
    assert [entry.symbol for entry in kernel.artifact.entries if entry.symbol not in source] == []


@pytest.mark.parametrize("name", ["product", "rows"])
def test_layouts_can_be_drawn(target, name):
    """Where the elements of each tile lie, by their threads."""
    kernel = bare(compiled(KERNELS[name], target))
    if kernel.backend.lowering.family != "simt":
        pytest.skip("no layouts are inferred: its blocks have no threads")
    pictures = kernel.layouts()
    assert set(pictures) & {"product": {"a", "b", "c"}, "rows": {"x", "most"}}[name], sorted(pictures)
    for buffer in pictures:
        assert buffer in str(kernel.layout(buffer))
