"""kernel.explain() of kernels for CUDA."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import TargetError, ToolchainError

pytestmark = pytest.mark.usefixtures("installed")


def matmul():
    square = (128, 128)

    @T.prim_func
    def kernel(A: T.Tensor(square, "float16"), B: T.Tensor(square, "float16"), C: T.Tensor(square, "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 64, k * 32], A_shared)
                T.copy(B[k * 32, bx * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 64, bx * 64])

    return kernel


def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


@pytest.fixture(scope="module")
def explained():
    from importlib.metadata import entry_points

    if not any(entry.name == "cuda" for entry in entry_points(group="tilecore.backends")):
        pytest.skip("tile-cuda is not installed")
    return tilecore.compile(matmul(), target="cuda -arch=sm_80", execution_backend="sim").explain()


def test_operations_stages_and_barriers(explained):
    text = str(explained)
    assert f"  line {line_of('T.gemm(A_shared, B_shared, C_local)')}: gemm: mma.sync" in text
    assert text.count(f"  line {line_of('T.copy(A[by * 64, k * 32], A_shared)')}: copy: ") == 1, "each is told once"
    assert "A_shared, B_shared: 2 stages" in text
    assert "barriers inserted: " in text
    assert "threads (128, 1, 1)" in text


def test_layouts_as_formulas(explained):
    text = str(explained)
    assert "  C_local: 64x64 over 128 threads, 32 registers each\n      thread = " in text
    row = next(row for row in explained.data["layouts"] if row["buffer"] == "C_local")
    assert f"      thread = {row['thread']}\n      register = {row['register']}" in text
    places = set()
    for i in range(64):
        for j in range(64):
            names = {"i": i, "j": j}
            places.add(tuple(eval(row[column].replace("/", "//"), names) for column in ("thread", "register")))
    assert places == {(t, r) for t in range(128) for r in range(32)}


def test_the_map_of_shared_memory(explained):
    text = str(explained)
    size = 2 * 64 * 32 * 2
    first = line_of("T.copy(A[by * 64, k * 32], A_shared)")
    last = line_of("T.gemm(A_shared, B_shared, C_local)")
    assert f"A_shared, used on lines {first} to {last}" in text
    (row,) = explained.data["shared_memory"]
    starts = sorted(start for start, _ in row["buffers"].values())
    assert starts == [0, size]
    assert row["bytes"] == 2 * size


def test_widths_of_moves(explained):
    assert f"  line {line_of('T.copy(A[by * 64, k * 32], A_shared)')}: A_shared, A by 16 bytes" in str(explained)


def test_it_is_plain_data(explained):
    assert json.loads(json.dumps(dict(explained.data))) == explained.data


@pytest.mark.parametrize(
    ("arch", "words"), [("sm_100a", "tcgen05"), ("sm_110", "tcgen05"), ("sm_121", "block-scaled"), ("sm_90a", None)]
)
def test_what_is_left_unused(arch, words):
    text = str(tilecore.compile(matmul(), target=f"cuda -arch={arch}", execution_backend="sim").explain())
    assert (f"{arch} is compiled like earlier architectures" in text) is (words is not None)
    assert words is None or words in text


def test_registers_of_the_compiled_kernel():
    from tilecore.compiler import CompileOptions, build_artifact
    from tilecore.jit.explain import Explanation
    from tilecore.plugins import manager

    backend, target = manager.resolve("cuda -arch=sm_80")
    try:
        artifact = build_artifact(matmul().ir, backend, target, "cython", CompileOptions())
    except ToolchainError as error:
        pytest.skip(error.message)
    explanation = Explanation(artifact, backend.toolchain.describe)
    facts = explanation.functions[artifact.entries[0].symbol]
    assert 40 <= facts["registers"] <= 255
    assert f"      {facts['registers']} registers, {facts['stack_bytes']} stack bytes" in str(explanation)


@pytest.fixture(scope="module")
def kernel(explained):
    return tilecore.compile(matmul(), target="cuda -arch=sm_80", execution_backend="sim")


def test_pictures_of_the_buffers(kernel, explained):
    import numpy as np

    assert set(kernel.layouts()) == {"A_shared", "B_shared", "C_local"}
    picture = kernel.layout("C_local")
    row = next(row for row in explained.data["layouts"] if row["buffer"] == "C_local")
    assert picture.words == f"thread = {row['thread']}; register = {row['register']}"
    places = picture.holder * 32 + picture.place
    assert sorted(places.ravel().tolist()) == list(range(128 * 32))
    tile = kernel.layout("A_shared")
    assert tile.shape == (2, 64, 32), "a slot for each stage"
    assert sorted(tile.place.ravel().tolist()) == list(range(0, 2 * 64 * 32 * 2, 2))
    # ldmatrix reads 16 bytes of eight rows: no two of them in the same banks
    for start in range(0, 64, 8):
        assert len(np.unique(tile.holder[0, start : start + 8, 0])) == 8


def test_a_buffer_that_there_is_not(kernel):
    with pytest.raises(TargetError, match="has no buffer 'D' with a layout") as caught:
        kernel.layout("D")
    assert "C_local" in caught.value.expected


def test_the_command(tmp_path, capsys, monkeypatch):
    from tilecore.cli import main

    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    drawing = tmp_path / "c.svg"
    words = ["explain", f"{__file__}:matmul", "--target", "cuda -arch=sm_80"]
    for more, expected in (
        ([], "gemm: mma.sync"),
        (["--layout", "A_shared"], "A_shared: 2x64x32 float16, bank of each element"),
        (["--layout", "C_local", "--svg", str(drawing)], str(drawing)),
        (["--json"], '"pipelines"'),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        assert ended.value.code == 0
        assert expected in capsys.readouterr().out
    assert drawing.read_text().startswith("<svg")
