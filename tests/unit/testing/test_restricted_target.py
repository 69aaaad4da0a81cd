"""The conformance kit on a target that declares little: what it lacks is skipped, and no case fails by it.

The target has no integers of 64 bits, no float64, no float16, atomic operations of relaxed order alone, and 16 KiB of
shared memory. It is an installed package, so that the cases that start other processes find it, too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tilecore
import tilecore.language as T
from tilecore.scaffold.package import write_package
from tilecore.testing.conformance.cases import kit, test_speed

sys.path.insert(0, str(Path(__file__).parents[1] / "lowering"))
from restricted_backend import NARROW, restricted

CASES = (
    "axes_of_int64 or elements_of_their_own or own_writes or functions_with_pointers or conversions "
    "or other_processes or ends_at_once or scaled_products or orders"
)


ABSENT = """

class Absent(KernelAdapter):
    name = "acme"

    def available(self, target):
        from tilecore.contract.records import Presence

        return Presence(False, "there is no Acme device")

    def binary_formats(self):
        return ("acme",)

    def load(self, artifact):
        raise AssertionError("nothing is loaded")


def adapters():
    return [Absent()]
"""


def write_installed(folder: Path) -> None:
    """Writes the scaffold's package to the folder, as if it were installed there."""
    write_package("acme", folder)
    information = folder / "tile_acme-0.1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tile-acme\nVersion: 0.1\n")
    (information / "entry_points.txt").write_text("[tilecore.backends]\nacme = tile_acme.plugin\n")


def conform(folder: Path, cases: str, *words: str) -> str:
    """What the kit prints at level 1 on the package in the folder, where every one of these cases ends well."""
    command = [sys.executable, "-m", "tilecore", "conform", "--target", "acme", "--level", "1", "-k", cases, *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    return ended.stdout


@pytest.fixture
def package(tmp_path) -> Path:
    """A folder with the scaffold's package, restricted, as if it were installed there."""
    write_installed(tmp_path)
    target = tmp_path / "tile_acme" / "target.py"
    types = f"DTYPES = {sorted(NARROW - {'float16'})}"
    text = re.sub(r"DTYPES = \(.*?\)\.split\(\)", types, target.read_text(), flags=re.DOTALL)
    text = text.replace("SHARED = 48 << 10", "SHARED = 16 << 10")
    declared = '        index_bits=32,\n        atomic_orders=frozenset({"relaxed"}),\n'
    text = text.replace("        features=frozenset(FEATURES),\n", f"        features=frozenset(FEATURES),\n{declared}")
    target.write_text(text)
    return tmp_path


def test_no_case_fails_by_what_is_not_declared(package, tmp_path):
    report = tmp_path / "report.json"
    conform(package, CASES, "--out", str(report))
    text = json.dumps(json.loads(report.read_text()))
    reasons = set(re.findall(r"not declared: element type (\w+)", text))
    assert {"int64", "uint64", "float64", "float16"} <= reasons
    assert '"passed"' in text


def skipped(run) -> str:
    with pytest.raises(pytest.skip.Exception) as raised:
        run()
    return str(raised.value)


@T.prim_func
def float64_values(X: T.Tensor((32,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(32):
            X[i] = T.cast(T.sqrt(T.cast(X[i], "float64")), "float32")


@T.prim_func
def int64_loop(X: T.Tensor((32,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(T.int64(32)):
            X[i] = 1


@T.prim_func
def int64_tensor(X: T.Tensor((32,), "int64")):
    with T.Kernel(1, threads=32):
        X[0] = 1


@pytest.mark.parametrize(
    ("func", "dtype"), [(float64_values, "float64"), (int64_loop, "int64"), (int64_tensor, "int64")]
)
def test_types_of_values_are_skipped_like_those_of_tensors(func, dtype):
    with restricted(index_bits=32):
        assert skipped(lambda: kit.compiled(func, "null")) == f"not declared: element type {dtype}"
        assert skipped(lambda: kit.needs_type("null", dtype)) == f"not declared: element type {dtype}"
        kit.needs_type("null", "float32")


def test_loops_in_int64_go_on_where_indices_have_64_bits():
    with restricted():
        kit.lacking(int64_loop, "null")


def test_speed_cases_are_skipped_by_shared_memory(monkeypatch, tmp_path):
    """A pipeline of two stages needs 32 KiB."""

    def compile_product():
        with kit.within_limits():
            tilecore.compile(test_speed.product("float32", 2), target="null")

    with restricted(shared_bytes=16 << 10):
        reason = skipped(compile_product)
        assert "not declared: so much on-chip memory of a block" in reason
        from_cache = test_speed.test_a_kernel_from_the_cache
        assert skipped(lambda: from_cache("null", None, monkeypatch, tmp_path)) == reason
    with restricted():
        compile_product()


def test_level_1_asks_for_no_device(tmp_path):
    """A backend that emits source, and has nothing that runs it, reaches level 1."""
    write_installed(tmp_path)
    adapter = tmp_path / "tile_acme" / "adapter.py"
    adapter.write_text(adapter.read_text() + ABSENT)
    words = "const_and_empty or supplied_inputs or timing or autotune or names_of_its_sizes or ends_at_once"
    assert "level 1 runs no kernel" in conform(tmp_path, words)
