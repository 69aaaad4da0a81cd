"""The conformance kit: what it runs, skips, expects to fail and reports; and that it notices a wrong backend."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilecore.language as T
from tilecore.contract.records import Capabilities
from tilecore.lowering.analysis.needs import needs
from tilecore.testing.conformance import LEVELS, matrix, report
from tilecore.testing.conformance.places import Place, place

pytestmark = pytest.mark.rotated

FULL = Capabilities(
    dtypes=frozenset({"float32", "int32", "float16"}),
    scopes=frozenset({"global", "shared", "local.fragment"}),
    tile_ops=frozenset({"copy", "gemm", "fill", "reduce"}),
    max_threads=128,
    features=frozenset({"dynamic_shapes"}),
)

# a backend like the host's, but for one thing: a plugin in a file of its own, registered by a pytest plugin
WRONG = """
import dataclasses

import tilecore.backends.cpu.plugin as host
from tilecore.contract.passes import Pass, PassEdit
from tilecore.plugins import manager
from tilecore.contract.hookspecs import hookimpl

KIND = "odd"


def changed(spec):
    return {change_target}


@hookimpl
def tilecore_target():
    return changed(dataclasses.replace(host.tilecore_target(), kind=KIND, aliases={{}}))


@hookimpl
def tilecore_lowering():
    return {change_lowering}


@hookimpl
def tilecore_codegen():
    made = host.tilecore_codegen()

    def register():
        from tilecore.ir.nodes import tvm_ffi

        made.register()
        tvm_ffi.register_global_func("target.build.tilecore_odd", tvm_ffi.get_global_func(made.function))

    return dataclasses.replace(made, function="target.build.tilecore_odd", register=register)


@hookimpl
def tilecore_toolchain():
    return {change_toolchain}


class Adapter(type(host.tilecore_adapters()[0])):
    {change_adapter}


@hookimpl
def tilecore_adapters():
    return [Adapter()]
"""
SAME = {
    "change_target": "spec",
    "change_lowering": "host.tilecore_lowering()",
    "change_toolchain": "host.tilecore_toolchain()",
    "change_adapter": "pass",
}


def conform(tmp_path: Path, *words: str, **wrong: str):
    """The kit on a backend that is wrong in this way: its report, and what pytest printed."""
    changes = SAME | {f"change_{part}": text for part, text in wrong.items()}
    (tmp_path / "odd_plugin.py").write_text(WRONG.format(**changes))
    info = tmp_path / "odd-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tilecore.backends]\nodd = odd_plugin\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    out = tmp_path / "report.json"
    ended = subprocess.run(
        [sys.executable, "-m", "tilecore", "conform", "--target", "odd", "--out", str(out), *words],
        env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    result = json.loads(out.read_text())[0] if out.exists() else None
    return ended, result


def test_a_right_backend(tmp_path):
    ended, result = conform(tmp_path, "-k", "test_block_order or test_registration or test_compiles")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert result["reached"] == 3
    assert result["levels"] == {"0": "passed", "1": "passed", "3": "passed"}
    assert result["groups"]["block_order"]["passed"] > 5
    assert (result["package"], result["version"], result["place"]) == ("odd", "1.0", "odd")
    assert "L3 correct on hardware: passed" in ended.stdout


def test_what_is_not_declared_is_skipped(tmp_path):
    no_floats = (
        "dataclasses.replace(spec, capabilities=lambda t: dataclasses.replace(host.tilecore_target().capabilities(t), "
        "dtypes=frozenset({'int32'})))"
    )
    ended, result = conform(tmp_path, "-k", "test_block_order", target=no_floats)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert set(result["skipped"]) == {"not declared: element type float32"}


def test_what_is_known_to_fail(tmp_path):
    failures = "{'test_block_order.py::*': 'blocks run backwards'}"
    declaration = f"dataclasses.replace(spec, known_failures=lambda t: {failures})"
    ended, result = conform(tmp_path, "-k", "test_block_order", target=declaration)
    assert ended.returncode == 1, "they pass, which is reported"
    assert set(result["groups"]["block_order"]) == {"failed"} or set(result["groups"]["block_order"]) == {"xpassed"}
    assert result["levels"] == {"3": "failed"}


def test_level_1_runs_nothing(tmp_path):
    ended, result = conform(tmp_path, "-k", "test_block_order or test_compiles", "--level", "1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert result["levels"] == {"1": "passed"}


def test_a_wrong_pass_is_found(tmp_path):
    dropped = (
        "dataclasses.replace(host.tilecore_lowering(), edits=(*host.tilecore_lowering().edits, "
        "PassEdit('remove', 'separate_overlaps')))"
    )
    ended, result = conform(tmp_path, "-k", "test_copies and before_it_writes", lowering=dropped)
    assert ended.returncode == 1, ended.stdout
    assert result["levels"]["3"] == "failed"
    assert {case["outcome"] for case in result["cases"]} == {"failed"}


def test_a_limit_that_is_declared_and_not_kept_is_found(tmp_path):
    limited = (
        "dataclasses.replace(spec, capabilities=lambda t: dataclasses.replace(host.tilecore_target().capabilities(t), "
        "max_threads=64))"
    )
    unchecked = (
        "dataclasses.replace(host.tilecore_lowering(), edits=(*host.tilecore_lowering().edits, "
        "PassEdit('remove', 'check_threads')))"
    )
    ended, result = conform(tmp_path, "-k", "test_error_texts and threads", target=limited, lowering=unchecked)
    assert ended.returncode == 1, ended.stdout
    (case,) = [case for case in result["cases"] if case["outcome"] == "failed"]
    assert case["name"] == "test_error_texts.py::test_too_many_threads[odd]"
    assert "DID NOT RAISE" in case["reason"]
    right, _ = conform(tmp_path, "-k", "test_error_texts and threads", target=limited)
    assert right.returncode == 0, right.stdout


def test_an_adapter_that_needs_the_compiler_is_found(tmp_path):
    importing = "def load(self, artifact):\n        import tvm\n        return super().load(artifact)"
    ended, result = conform(tmp_path, "-k", "test_export", adapter=importing)
    assert ended.returncode == 1, ended.stdout
    (case,) = [case for case in result["cases"] if case["outcome"] == "failed"]
    assert "without_a_compiler" in case["name"]
    assert "tvm is blocked" in case["reason"]


@pytest.mark.parametrize(("name", "case"), [
    ("known_failures", "test_known_failures_have_reasons"),
    ("refused_names", "test_refused_names_are_names_of_the_target"),
    ("capabilities", "test_capabilities_are_words_of_the_language"),
])  # fmt: skip
def test_what_the_backend_cannot_say_fails_a_case(tmp_path, name, case):
    """The kit itself goes on, and its report names the package."""
    target = f"dataclasses.replace(spec, {name}=lambda t: {{}}['gone'])"
    ended, result = conform(tmp_path, "-k", "test_registration", target=target)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "INTERNALERROR" not in ended.stdout + ended.stderr
    failed = {result["name"]: result["reason"] for result in result["cases"] if result["outcome"] == "failed"}
    (why,) = [reason for name, reason in failed.items() if case in name]
    assert f"package odd 1.0): TargetSpec.{name} raised KeyError" in ended.stdout
    assert why


def test_an_unknown_target(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "tilecore", "conform", "--target", "nowhere"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode != 0
    assert "nowhere" in ended.stdout + ended.stderr


# -- what a kernel needs ---------------------------------------------------------------------------------------------


def kernel(dtype="float32", scope=T.alloc_shared, threads=64, n=64, op="copy"):
    @T.prim_func
    def copy(X: T.Tensor((n, 32), dtype), Y: T.Tensor((n, 32), dtype)):
        with T.Kernel(1, threads=threads):
            x = scope((64, 32), dtype)
            T.copy(X, x)
            if op == "scan":
                T.cumsum(x, dim=0)
            if op == "atomic":
                T.atomic_add(Y[0, 0], x[0, 0])
            if op == "call":
                x[0, 0] = T.call_extern(dtype, "other", x[0, 0])
            T.copy(x, Y)

    return copy.ir


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, None),
        ({"dtype": "float64"}, "element type float64"),
        ({"scope": T.alloc_local}, "memory scope local"),
        ({"op": "scan"}, "tile operation scan"),
        ({"op": "atomic"}, "tile operation atomic_element"),
        ({"op": "call"}, "feature source"),
    ],
)
def test_needs(options, reason):
    assert first_undeclared(kernel(**options), FULL) == reason


def test_types_of_numbers_are_a_need():
    """Of scalars, and of what a kernel computes with on its way."""

    @T.prim_func
    def scalar(X: T.Tensor((4,), "float32"), s: T.bfloat16):
        with T.Kernel(1):
            X[0] = T.cast(s, "float32")

    @T.prim_func
    def through(X: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            X[0] = T.cast(T.cast(X[1], "bfloat16"), "float32")

    assert [first_undeclared(func.ir, FULL) for func in (scalar, through)] == ["element type bfloat16"] * 2


def test_sizes_of_the_call_are_a_need():
    other = dataclasses.replace(FULL, features=frozenset({"atomics"}))
    assert first_undeclared(kernel(n=T.dynamic("n")), other) == "feature dynamic_shapes"
    silent = dataclasses.replace(FULL, features=frozenset())
    assert first_undeclared(kernel(n=T.dynamic("n")), silent) is None


def first_undeclared(func, capabilities):
    return next((str(need) for need in needs(func) if not need.is_met(capabilities)), None)


# -- reports ---------------------------------------------------------------------------------------------------------


def test_levels_build_on_each_other():
    result = report.Report("acme", True)
    result.cases = [
        report.Case("a", "g", 0, "passed"),
        report.Case("b", "g", 1, "failed"),
        report.Case("c", "g", 2, "passed"),
    ]
    assert result.levels() == {0: "passed", 1: "failed", 2: "failed"}
    assert result.reached() == 0
    result.cases[1].outcome = "xfailed"
    assert result.reached() == 2
    assert set(LEVELS) == {0, 1, 2, 3, 4}


def test_a_table():
    result = report.Report("acme", True)
    result.cases = [report.Case("a", "gemm", 2, "passed"), report.Case("b", "math", 2, "skipped", "not declared: x")]
    text = report.table(result)
    assert "gemm" in text
    assert "L2 correct on a simulated device: passed" in text
    assert "    1 not declared: x" in text


def test_a_level_whose_cases_cannot_run_is_not_reached():
    result = report.Report("acme", True)
    result.cases = [report.Case("a", "g", 2, "passed"), report.Case("b", "speed", 4, "skipped", "it has no speed")]
    assert result.levels() == {2: "passed", 4: "skipped"}
    assert result.reached() == 2


def test_an_interrupted_run_reaches_no_level():
    result = report.Report("acme", True, interrupted=True)
    result.cases = [
        report.Case("a", "g", 0, "passed"),
        report.Case("c", "g", 1, "skipped"),
        report.Case("b", "g", 2, "failed"),
    ]
    assert result.levels() == {0: "unfinished", 1: "unfinished", 2: "failed"}
    assert result.reached() == -1
    assert result.data()["interrupted"]
    assert matrix.reached({"0": "passed", "1": "unfinished", "2": "passed"}) == 0


def test_what_cases_measure():
    """The largest number of several; in the matrix a row for each thing."""
    acme, odd = report.Report("acme", True), report.Report("odd", False)
    for result, factor in ((acme, 1.0), (odd, 2.0)):
        for number in (0.5, 0.75, 0.25):
            result.measure("errors", "exp", "float32", number * factor)
        result.cases = [report.Case("a", "math", 2, "passed")]
    acme.measure("errors", "exp", "float16", 0.5)
    acme.measure("errors", "sin", "float32", 1000.0)
    assert acme.data()["measured"] == {"errors": {"exp": {"float32": 0.75, "float16": 0.5}, "sin": {"float32": 1000.0}}}
    page = matrix.matrix([acme.data() | RECORDED, odd.data() | RECORDED])
    assert "## Errors\n\n| float32, float16 | `acme` simulated | `odd` |\n" in page
    assert "| exp | 0.75, 0.5 | 1.5, - |\n" in page
    assert "| sin | 1000, - | -, - |\n" in page


RECORDED = {"tilecore": "1"}


def test_places():
    assert place("acme -model=2@sim") == Place("acme -model=2", "sim")
    assert place("acme").backend is None
    assert place("acme@sim").words == "acme@sim"


# -- the matrix of the docs ------------------------------------------------------------------------------------------

DOCS = Path(__file__).parents[3] / "docs"


def test_the_matrix_is_what_the_reports_say():
    files = sorted((DOCS / "support").glob("*.json"))
    reports = [recorded for path in files for recorded in json.loads(path.read_text())]
    assert {report_["place"] for report_ in reports} >= {"cpu"}
    assert matrix.matrix(reports) == (DOCS / "support.md").read_text(), "generate it: see its head"


def test_cells():
    assert matrix.cell({}) == "-"
    assert matrix.cell({"passed": 3}) == "3"
    assert matrix.cell({"passed": 3, "failed": 1, "skipped": 2, "xfailed": 1}) == "3, 1 failed, 1 known, 2 skipped"


def test_runs_of_parts_are_joined():
    failed = {"name": "m", "group": "math", "outcome": "failed", "reason": "x"}
    first = {
        "place": "acme", "simulated": False, "levels": {"0": "passed", "3": "passed"}, "reached": 3,
        "groups": {"gemm": {"passed": 2}, "math": {"failed": 1}}, "skipped": {}, "measured": {}, "cases": [failed],
    }  # fmt: skip
    speed = {**first, "levels": {"4": "passed"}, "reached": 4, "groups": {"speed": {"passed": 3}}, "cases": []}
    skipped = {**failed, "outcome": "skipped", "reason": "none"}
    again = {**first, "levels": {}, "groups": {"math": {"skipped": 1}}, "cases": [skipped]}
    (whole,) = matrix.merged_reports([first, speed, again])
    assert whole["groups"] == {"gemm": {"passed": 2}, "math": {"skipped": 1}, "speed": {"passed": 3}}
    assert whole["reached"] == 4
    assert whole["skipped"] == {"none": 1}
    assert whole["cases"] == [skipped]
    assert matrix.reached({"0": "passed", "1": "failed", "2": "passed"}) == 0
    assert len(matrix.merged_reports([first, {**first, "simulated": True}])) == 2


@pytest.mark.parametrize("name", ["auto", "dlpack"])
def test_a_name_that_every_target_accepts_stands_for_the_chosen_execution_backend(name):
    """So a report tells a simulated device from hardware."""
    assert Place("cpu", name).adapter() is Place("cpu").adapter()
    assert Place("cpu", name).adapter() is not None
