"""The figures of emitted kernels beside their record (benchmarks/metal_programs.py)."""

from __future__ import annotations

import copy
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tile_metal.figures import compiled

from tilecore.errors import ToolchainError

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "metal_programs.py"

pytestmark = pytest.mark.skipif(not BENCHMARK.is_file(), reason="the benchmarks are in the repository only")


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("metal_programs", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def record(benchmark) -> dict[str, Any]:
    return json.loads(benchmark.RECORD.read_text())


def test_every_kernel_is_in_the_record(benchmark, record):
    expected = {f"{example}: {call}" for example, calls in benchmark.SUITE.items() for call in calls}
    assert set(record["kernels"]) == expected
    for name, families in record["kernels"].items():
        assert set(families) == set(benchmark.FAMILIES), name
        assert not any("refused" in row for row in families.values()), name


def kernels(record, example: str) -> list[tuple[str, str, Any]]:
    return [
        (name, family, kernel)
        for name, families in record["kernels"].items()
        for family, row in families.items()
        for kernel in row.values()
        if name.startswith(f"{example}: ")
    ]


def test_products_are_most_of_the_main_loop_of_gemm(record):
    """By the model; nothing was measured. Products of int8 convert their operands, which takes longer."""
    rows = [row for row in kernels(record, "gemm") if "int8" not in row[0]]
    assert len(rows) >= 10
    for name, family, kernel in rows:
        assert kernel["model"]["issue_share"] >= 0.88, (name, family)
        assert kernel["model"]["bound"] == "matrix", (name, family)
        if family == "apple9":
            assert kernel["model"]["fraction"] == 1.0, name


def test_attention_and_softmax(record):
    for name, family, kernel in kernels(record, "attention"):
        if family == "apple9":
            assert kernel["model"]["issue_share"] >= 0.8, name
    assert all(kernel["model"]["bound"] == "memory" for _, _, kernel in kernels(record, "softmax"))


def test_the_text_and_clang_agree(record):
    """The products of the main loop, counted in the emitted text and in what clang makes of it; no array is indexed by
    what clang does not know, for it would be in memory."""
    for example in ("gemm", "attention", "softmax"):
        for name, family, kernel in kernels(record, example):
            loop = kernel.get("main_loop", kernel.get("no_loop"))
            assert loop.get("matrix", 0) == kernel["figures"]["matrix_products"], (name, family)
            assert "thread_memory" not in loop, (name, family)


def row(
    registers: int = 128, shared: int = 8192, matrix: int = 64, share: float = 0.95, cycles: float = 1152, memory=0
) -> Any:
    return {
        "k": {
            "figures": {"registers_of_arrays": registers, "threadgroup_bytes": shared},
            "main_loop": {"matrix": matrix, "thread_memory": memory},
            "model": {"issue_share": share, "cycles": cycles},
        }
    }


WORSE = {
    "registers_of_arrays was 128, is 160": {"registers": 160},
    "threadgroup_bytes was 8192, is 9728": {"shared": 9728},
    "matrix products of the main loop were 64, are 0": {"matrix": 0},
    "accesses of arrays that are not in registers were 0, are 8": {"memory": 8},
    "issue_share of matrix products (a model) was 0.95, is 0.9": {"share": 0.9},
    "cycles of an iteration (a model) were 1152, are 1300": {"cycles": 1300},
}
ALWAYS = list(WORSE)[:3]  # whichever clang made the record


@pytest.mark.parametrize("message", WORSE)
def test_what_is_worse_is_named(message, benchmark):
    old, now = {"gemm": {"apple9": row()}}, {"gemm": {"apple9": row(**WORSE[message])}}
    assert benchmark.worse(old, now, True) == [f"gemm on apple9: k: {message}"]
    assert bool(benchmark.worse(old, now, False)) is (message in ALWAYS), "another clang counts otherwise"
    assert benchmark.worse(now, copy.deepcopy(now), True) == []
    assert "is not in the record" in benchmark.worse({}, now, True)[0]
    refused = {"gemm": {"apple9": {"refused": "too large"}}}
    assert benchmark.worse(old, refused, True) == ["gemm on apple9: it was compiled, and is refused: too large"]


FEW = {
    "gemm": "gemm(4096, 4096, 4096, block_M=64, block_N=64, block_K=32, stages=2, threads=128)",
    "attention": "attention(4, 32, 32, 4096, 64, block_M=32, block_N=32, stages=1, threads=128)",
    "softmax": "softmax_of_rows(16384, 4096, 1, 256, 'float16')",
}


@pytest.mark.parametrize("example", FEW)
def test_kernels_are_as_recorded(example, benchmark, record):
    """If a figure is worse on purpose, python benchmarks/metal_programs.py records it."""
    try:
        version = compiled.version()
    except ToolchainError as error:
        pytest.skip(error.message)
    name = f"{example}: {FEW[example]}"
    now = {name: {"apple9": benchmark.row_of(example, FEW[example], "apple9")}}
    assert benchmark.worse(record["kernels"], now, version == record["facts"]["compiler"]) == []
    for kernel in now[name]["apple9"].values():
        products = kernel.get("main_loop", kernel.get("no_loop"))
        assert products.get("matrix", 0) == (0 if example == "softmax" else 64)
