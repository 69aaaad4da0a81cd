"""The demo: its references, its verdicts, and the command as users run it."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import os
import subprocess
from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
from fresh_processes import output_of, run_code
from rich.console import Console

from tilecore.commands import demo as command
from tilecore.demo import numpy_references
from tilecore.demo.arrays import Arrays
from tilecore.demo.cases import Case, cases
from tilecore.demo.run import Demo, Result
from tilecore.demo.table import result_table
from tilecore.errors import LimitError, TargetError

pytestmark = pytest.mark.usefixtures("module_cache")

QUICK = {case.name: case for case in cases(quick=True)}


def need_torch() -> None:
    pytest.importorskip("torch")


# -- references -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", QUICK.values(), ids=list(QUICK))
def test_references_agree(case: Case):
    need_torch()
    inputs = case.make_inputs()
    by_library = []
    for torch in (False, True):
        arrays = Arrays("cpu", torch)
        result = arrays.reference(case)(*(arrays.place(array) for array in inputs))
        by_library.append(arrays.fetch(result))
    assert by_library[0].shape == case.output
    np.testing.assert_allclose(*by_library, rtol=1e-5, atol=1e-5)


def test_causal_attention_sees_no_later_row():
    generator = np.random.default_rng(0)
    q, k, v = generator.standard_normal((3, 1, 1, 8, 4))
    out = numpy_references.attention(q, k, v, True)
    np.testing.assert_allclose(out[0, 0, 0], v[0, 0, 0])
    weights = np.exp(q[0, 0, 2] @ k[0, 0, :3].T / 2)
    np.testing.assert_allclose(out[0, 0, 2], weights @ v[0, 0, :3] / weights.sum())


def test_int4_weights_are_unpacked_low_bits_first():
    packed = np.array([[0x0F, 0x80]], dtype=np.uint8)  # columns: 15, 0, 0, 8, stored with 8 added
    scale = np.full((1, 4), 2, dtype=np.float32)
    np.testing.assert_array_equal(numpy_references.dequant_matmul(np.ones((1, 1)), packed, scale), [[14, -16, -16, 0]])


def test_inputs_are_the_same_every_time():
    case = QUICK["int4_matmul"]
    for first, second in zip(case.make_inputs(), case.make_inputs(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_both_lists_name_the_same_kernels():
    assert [case.name for case in cases()] == list(QUICK)


# -- verdicts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("torch", [False, True], ids=["numpy", "torch"])
def test_every_kernel_is_right(torch):
    if torch:
        need_torch()
    results = list(Demo("cpu", quick=True, torch=torch).results())
    assert [(r.name, r.ok, r.error) for r in results] == [(name, True, None) for name in QUICK]
    assert all(r.run_ms > 0 and r.reference_ms > 0 and r.compile_ms > 0 for r in results)


def test_kernels_of_an_earlier_run_come_from_the_cache():
    code = (
        "from tilecore.demo.run import Demo\n"
        "demo = Demo('cpu', quick=True, torch=False)\n"
        "results = [demo.run(case) for case in demo.cases[:2]]\n"
        "import sys\n"
        "print([(r.ok, r.from_cache, r.includes_loading) for r in results], 'tvm' in sys.modules)"
    )

    def lines() -> str:
        return output_of(code, TILECORE_CACHE_DIR=os.environ["TILECORE_CACHE_DIR"] + "-of-two")

    assert lines() == "[(True, False, True), (True, False, False)] True\n"
    later = "[(True, True, False), (True, True, False)] False\n"
    # a checkout that is being edited makes other keys: then the next run is the one
    assert any(lines() == later for _ in range(3))


@pytest.mark.parametrize(("change", "ok"), [(0.0, True), (2e-3, False), (float("nan"), False)])
def test_a_result_that_is_not_the_references_is_wrong(monkeypatch, change, ok):
    def planted(x):
        return numpy_right(x) + np.float32(change)

    numpy_right = numpy_references.softmax
    monkeypatch.setattr(numpy_references, "softmax", planted)
    result = Demo("cpu", quick=True, torch=False).run(QUICK["softmax"])
    assert result.error is None
    assert result.ok is ok


def test_smaller_tiles_where_the_first_exceed_a_limit():
    right = QUICK["column_sum"]

    def on_a_small_device(M, N, block_M=64, **tiles):
        if block_M > 32:
            raise LimitError("too much shared memory")
        return right.kernel.func(M, N, block_M=block_M, **tiles)

    demo = Demo("cpu", quick=True, torch=False)
    case = dataclasses.replace(right, kernel=SimpleNamespace(func=on_a_small_device))
    assert (demo.run(case).ok, demo.run(case).error) == (True, None)
    assert "too much shared memory" in demo.run(dataclasses.replace(case, smaller_tiles={})).error


def test_a_target_in_the_interpreter(monkeypatch):
    monkeypatch.setenv("TILECORE_INTERPRET", "1")
    demo = Demo("cpu", torch=False)
    assert demo.quick
    result = demo.run(QUICK["column_sum"])
    assert (result.ok, result.error) == (True, None)


def test_a_kernel_that_fails_stops_no_other(monkeypatch, capsys):
    broken = dataclasses.replace(QUICK["softmax"], values={"M": 64, "N": 64, "dtype": "float33"})
    module = importlib.import_module("tilecore.demo.run")
    monkeypatch.setattr(module, "cases", lambda quick: [broken, QUICK["column_sum"]])
    assert command.run(Namespace(target="cpu", quick=True, json=True)) == 1
    failed, right = json.loads(capsys.readouterr().out)["results"]
    assert "float33" in failed["error"]
    assert failed["run_ms"] is None
    assert (failed["ok"], right["ok"]) == (False, True)


def test_a_wrong_result_is_told(monkeypatch, capsys):
    module = importlib.import_module("tilecore.demo.run")
    strict = dataclasses.replace(QUICK["column_sum"], tolerance=-1.0)
    monkeypatch.setattr(module, "cases", lambda quick: [strict])
    assert command.run(Namespace(target="cpu", quick=True, json=False)) == 1
    shown = capsys.readouterr().out
    assert "0 of 1 kernels are right" in shown
    assert "column_sum: the largest error is" in shown


# -- pieces ---------------------------------------------------------------------------------------------------


def test_the_table_fits_into_80_columns():
    row = Result("flash_attention", "1024x1024x1024", 12345.6, True, False, 123.456, 1234.567, 1.2e-5, 1.0, False)
    file = io.StringIO()
    Console(file=file, width=80).print(result_table([row, Result("matmul", "1x1x1", error="no")], "torch"))
    head, wrong, failed = file.getvalue().splitlines()
    assert head.split("  ")[0] == "kernel"
    assert wrong.split() == ["flash_attention", "1024x1024x1024", "12346*", "123.456", "1234.567", "1.2e-05", "wrong"]
    assert failed.split() == ["matmul", "1x1x1", "-", "-", "-", "-", "error"]


def test_a_device_without_torch_is_refused():
    with pytest.raises(TargetError, match="tensors on device 'elsewhere' need torch"):
        Arrays("elsewhere", torch=False)


# -- the command ----------------------------------------------------------------------------------------------


def run(*words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys\n{before}\nfrom tilecore.cli import main\nmain({list(words)!r})"
    return run_code(code)


def test_command_without_torch():
    ended = run("demo", "--quick", "--target", "cpu", before="sys.modules['torch'] = None")
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("target     cpu: ")
    assert lines[1].startswith("reference  numpy ")
    assert [line.split()[-1] for line in lines[4:11]] == ["ok"] * 7
    assert lines[-1] == "7 of 7 kernels are right"
    assert "\033" not in ended.stdout + ended.stderr, "no colours, no spinner but on a terminal"


def test_command_prints_json():
    ended = run("demo", "--quick", "--json")
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(ended.stdout)
    assert {r["name"] for r in facts["results"]} == set(QUICK)
    assert all(r["ok"] for r in facts["results"])


def test_unknown_target():
    ended = run("demo", "--quick", "--target", "abacus")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("tilecore: ")
    assert "abacus" in ended.stderr
    assert "Traceback" not in ended.stderr
