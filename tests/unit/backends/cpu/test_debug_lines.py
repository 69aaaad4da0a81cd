"""Lines of the user's file in object code and in exported libraries (tl.emit_line_directives on target cpu)."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ToolchainError
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.elf_sections import sections
from tilecore.simulate.line_table import LineTable

CONFIGS = {tilecore.PassConfigKey.TL_EMIT_LINE_DIRECTIVES: True}


@T.macro
def squared(x):
    return x * x


def make(factor):
    @T.prim_func
    def rows(A: T.Tensor((8, 32), "float32"), B: T.Tensor((8, 32), "float32"), S: T.Tensor((8,), "float32")):
        with T.Kernel(8, threads=32) as bx:
            row = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((1,), "float32")
            for j in T.Parallel(32):
                row[j] = T.exp(A[bx, j]) * factor
            T.reduce_sum(row, total, dim=0)
            for j in T.Parallel(32):
                if row[j] > 0.5:
                    B[bx, j] = squared(row[j])
            S[bx] = total[0]
        with T.Kernel(8, threads=32) as bx:
            S[bx] = S[bx] + 1.0

    return rows


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(make)
    return first + next(number for number, line in enumerate(lines) if text in line)


def rows_of(binary: bytes) -> set[int]:
    return {line for _, file, line in LineTable(binary)._rows if file == "test_debug_lines.py" and line}


LINES = ("row[j] = T.exp", "T.reduce_sum", "S[bx] = total[0]", "S[bx] = S[bx] + 1.0")


def test_the_object_code_names_the_lines_and_computes_the_same():
    plain, lined = (tilecore.compile(make(2.0), target="cpu", pass_configs=configs) for configs in (None, CONFIGS))
    assert {line_of(text) for text in LINES} <= rows_of(lined.artifact.binary)
    assert rows_of(plain.artifact.binary) == set()
    assert "!dbg" not in plain.get_kernel_source()
    a = np.random.default_rng(0).standard_normal((8, 32)).astype(np.float32)
    results = []
    for kernel in (plain, lined):
        b, s = np.zeros((8, 32), np.float32), np.zeros(8, np.float32)
        kernel(a, b, s)
        results.append((b, s))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_the_code_is_the_same_but_for_the_lines():
    """Of the whole text of the module, without the metadata that lines add."""
    plain, lined = (
        tilecore.compile(make(3.0), target="cpu", pass_configs=configs).get_kernel_source()
        for configs in (None, CONFIGS)
    )
    import re

    text = re.sub(r",? !dbg !\d+", "", lined)
    kept = [line for line in text.splitlines() if not re.match(r"!(llvm\.|1\d{6} )", line)]
    assert kept == plain.splitlines()


@pytest.mark.parametrize("march", ["x86-64", "x86-64-v3", "x86-64-v4", "znver3", "sapphirerapids"])
def test_lines_on_other_processors(march):
    """LLVM hoists what stands in a loop of one iteration, and drops its line: such loops are not emitted."""
    kernel = tilecore.compile(make(2.0), target=f"cpu -march={march}", pass_configs=CONFIGS)
    assert {line_of(text) for text in LINES} <= rows_of(kernel.artifact.binary)


def test_an_exported_library_has_the_lines(tmp_path):
    try:
        find_compiler()
    except ToolchainError as error:
        pytest.skip(str(error))
    kernel = tilecore.compile(make(4.0), target="cpu", pass_configs=CONFIGS)
    kernel.export_library(tmp_path / "rows.so", header=tmp_path / "rows.h")
    data = (tmp_path / "rows.so").read_bytes()
    assert {line_of(text) for text in LINES} <= rows_of(data)
    folder = __file__.rpartition("/")[0].encode()
    assert any(folder in text for text in sections(data, {".debug_line", ".debug_line_str", ".debug_str"}).values())
