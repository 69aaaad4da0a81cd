"""The code objects of the performance suite and of every example beside the record (benchmarks/hip_codeobjects.py)."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tile_hip import compilers

from tilecore.testing.conformance.parts import Part

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
CHIPS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")  # gfx950 needs a compiler that Debian does not have

pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are in the repository only")


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("hip_codeobjects", BENCHMARKS / "hip_codeobjects.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["hip_codeobjects"] = module  # the processes that compile find its functions by this name
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCHMARKS))


def kernel(
    scratch: int = 0, lds: int = 32768, vgprs: int = 128, waves: float = 2, matrix: int = 32, fraction=0.95
) -> Any:
    """A row of the record with these figures."""
    return {
        "figures": {"scratch_bytes": scratch, "lds_bytes": lds, "vgprs": vgprs},
        "occupancy": {"waves_per_simd": waves},
        "main_loop": {"matrix": matrix},
        "model": {"fraction": fraction},
    }


WORSE = {
    "scratch_bytes was 0, is 64": {"scratch": 64},
    "lds_bytes was 32768, is 70000; a block has at most 65536": {"lds": 70000},
    "matrix instructions of the main loop were 32, are 0": {"matrix": 0},
    "vgprs was 128, is 137": {"vgprs": 137},
    "waves_per_simd was 2, is 1": {"waves": 1},
    "fraction of the matrix slots (a model) was 0.95, is 0.9": {"fraction": 0.9},
}
# whichever compiler made the record
ALWAYS = list(WORSE)[:3]


@pytest.mark.parametrize("message", WORSE)
def test_what_is_worse_is_named(message, benchmark):
    old, now = (
        {"gemm: gemm(1)": {"gfx942": {"k": kernel()}}},
        {"gemm: gemm(1)": {"gfx942": {"k": kernel(**WORSE[message])}}},
    )
    assert benchmark.worse(old, now, {"gfx942"}) == [f"gemm: gemm(1) on gfx942: k: {message}"]
    assert bool(benchmark.worse(old, now, set())) is (message in ALWAYS)
    assert benchmark.worse(now, now, {"gfx942"}) == ([] if "lds" not in message else [
        "gemm: gemm(1) on gfx942: k: lds_bytes was 70000, is 70000; a block has at most 65536"
    ])  # fmt: skip


def test_what_is_better_or_as_recorded_passes(benchmark):
    old = {"gemm": {"gfx942": {"k": kernel(scratch=64, matrix=0, fraction=0)}, "gfx90a": {"k": kernel()}}}
    better = kernel(vgprs=136, lds=100, fraction=0.94)
    assert benchmark.worse(old, {"gemm": {"gfx942": {"k": better}}}, {"gfx942"}) == []
    assert (
        benchmark.worse(
            {"gemm": {"gfx950": {"k": kernel()}}}, {"gemm": {"gfx950": {"k": kernel(lds=160 << 10)}}}, set()
        )
        == []
    )


def test_refusals_and_new_kernels(benchmark):
    old = {"gemm": {"gfx942": {"k": kernel()}}}
    refused = {"gemm": {"gfx942": {"refused": "too large"}}}
    assert benchmark.worse(old, refused, set()) == ["gemm on gfx942: it was compiled, and is refused: too large"]
    assert benchmark.worse(refused, refused, set()) == []
    assert benchmark.worse(refused, old, {"gfx942"}) == []
    (line,) = benchmark.worse({}, old, set())
    assert "is not in the record" in line


def test_the_record_changes_only_where_it_was_compiled_again(benchmark, tmp_path):
    path = tmp_path / "record.json"
    record: dict[str, Any] = {"kernels": {"a": {"gfx942": 1, "gfx90a": 2}, "gone": {"gfx942": 3}}}
    benchmark.write(path, copy.deepcopy(record), {"a": {"gfx942": 5}}, {"gfx942": "clang 19"}, whole=False)
    written = json.loads(path.read_text())
    assert written["kernels"] == {"a": {"gfx942": 5, "gfx90a": 2}, "gone": {"gfx942": 3}}
    assert "not a measurement" in written["facts"]["note"]
    benchmark.write(path, record, {"a": {"gfx942": 5}, "b": {"gfx942": 6}}, {"gfx942": "clang 19"}, whole=True)
    assert json.loads(path.read_text())["kernels"] == {"a": {"gfx942": 5, "gfx90a": 2}, "b": {"gfx942": 6}}


def test_every_kernel_of_the_record_is_compiled(benchmark):
    """On every chip, and every example has one that no chip refuses."""
    kernels = json.loads(benchmark.RECORD.read_text())["kernels"]
    assert set(kernels) == {f"{example}: {call}" for example, call in benchmark.calls()}
    for name, chips in kernels.items():
        call = name.partition(": ")[2]
        assert set(chips) == {arch for arch in benchmark.CHIPS if benchmark.is_for(call, arch)}, name
    for path in sorted(BENCHMARKS.parent.glob("examples/*.py")):
        rows = [chips for name, chips in kernels.items() if name.startswith(f"{path.stem}: ")]
        assert any("refused" not in row for chips in rows for row in chips.values()), path.stem
        for arch in benchmark.CHIPS:
            assert any("refused" not in chips.get(arch, {"refused": ""}) for chips in rows), f"{path.stem} on {arch}"


def test_matrix_instructions_without_scratch(benchmark):
    """What the suite's products and attention need to be fast, on every chip that has instructions for their types."""
    kernels = json.loads(benchmark.RECORD.read_text())["kernels"]
    rows = [(name, arch, row) for name, chips in kernels.items() for arch, row in chips.items()]
    in_suite = {f"{example}: {call}" for example in ("gemm", "attention") for call in benchmark.SUITE[example]}
    for name, arch, row in rows:
        if name not in in_suite or ("float8" in name and arch not in ("gfx950", "gfx1201")):
            continue
        assert all(kernel["figures"]["scratch_bytes"] == 0 for kernel in row.values()), (name, arch)
        assert any(kernel.get("main_loop", {}).get("matrix") for kernel in row.values()), (name, arch)


@pytest.mark.parametrize(
    ("name", "least"),
    [("gemm: gemm(8192, 8192, 8192, ", 0.9), ("attention: attention(4, 32, 32, 4096, 128, block", 0.75)],
)
def test_the_model_of_the_main_loops_on_gfx942(benchmark, name, least):
    """By the model the matrix unit works so much of the time; nothing was measured."""
    kernels = json.loads(benchmark.RECORD.read_text())["kernels"]
    rows = [chips["gfx942"] for call, chips in kernels.items() if call.startswith(name) and "gfx942" in chips]
    fractions = [
        k["model"]["fraction_in_order"] for row in rows for k in row.values() if k.get("main_loop", {}).get("matrix")
    ]
    assert fractions
    assert min(fractions) >= least


def test_nothing_is_worse_than_the_record(benchmark, capsys, pytestconfig):
    """Compiles all of them; where the kit runs in parts, for one chip, which the next commits follow with the others.

    If a figure is worse on purpose, python benchmarks/hip_codeobjects.py records it.
    """
    chips = [arch for arch in CHIPS if any(arch in c.architectures() for c in compilers.installed())]
    part = Part.parse(pytestconfig.getoption("--conform-part"))
    if part.of > 1 and chips:
        chips = [chips[part.number % len(chips)]]
    if not chips or compilers.math_library() is None:
        pytest.skip(f"there is no compiler, or no math library: {compilers.FIX}")
    code = benchmark.main(["--compare", "--arch", ",".join(chips), "--jobs", str(min(4, os.cpu_count() or 2))])
    assert code == 0, capsys.readouterr().out
