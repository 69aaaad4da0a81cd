"""Backends that import modules by the names of contract 1 still load, and are told the new names."""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec

import pytest
from fresh_processes import imported_by, output_of, run_code

from tilecore.plugins.former_names import NOW, PACKAGES

ALWAYS_WARN = ("-W", "always")


@pytest.mark.parametrize("former", sorted(NOW))
def test_a_former_name_is_no_module_and_its_new_name_is_one(former):
    parent = former.rpartition(".")[0]
    if parent not in PACKAGES:
        folder = list(import_module(parent).__path__)
        assert PathFinder.find_spec(former, folder) is None, "a module that exists would hide the former name"
    assert find_spec(NOW[former]) is not None


def test_it_is_the_same_module():
    code = """
import warnings
warnings.simplefilter("ignore")
from tilecore.plugins.backend import TargetSpec
from tilecore.lowering.passes import Pass
from tilecore.lowering import passes
import tilecore.lowering.threads.kernels as kernels
import tilecore.lowering.order.effects as effects
import tilecore.contract.records, tilecore.contract.passes, tilecore.lowering.analysis.kernels
import tilecore.lowering.race_check.effects
assert TargetSpec is tilecore.contract.records.TargetSpec
assert passes is tilecore.contract.passes and Pass is passes.Pass
assert effects is tilecore.lowering.race_check.effects
assert kernels is tilecore.lowering.analysis.kernels
assert passes.__name__ == "tilecore.contract.passes" and passes.__spec__.name == "tilecore.contract.passes"
"""
    output_of(code)


def test_the_warning_names_the_new_module_and_the_line_that_imports():
    ended = run_code("import tilecore.runtime.adapter", flags=ALWAYS_WARN)
    assert ended.returncode == 0
    assert "<string>:1: DeprecationWarning: tilecore.runtime.adapter is tilecore.contract.adapter now" in ended.stderr


def test_other_names_are_not_there():
    ended = run_code("import tilecore.lowering.no_such_pass")
    assert "ModuleNotFoundError: No module named 'tilecore.lowering.no_such_pass'" in ended.stderr
    assert imported_by("import tilecore, json", ("tilecore.plugins.former_names",)) == []


def test_an_extension_point_under_its_name_of_contract_1():
    code = "from tilecore.contract.passes import ExtensionPoint, Gap; assert Gap is ExtensionPoint"
    ended = run_code(code, flags=ALWAYS_WARN)
    assert ended.returncode == 0, ended.stderr
    assert "<string>:1: DeprecationWarning: tilecore.contract.passes.Gap is " in ended.stderr


def test_effects_of_calls_under_their_names_of_contract_1():
    ended = run_code(
        "from tilecore.lowering.order.effects import Touch, AnyTouch, Start, Hear, Wait\n"
        "from tilecore.lowering.race_check import effects\n"
        "assert (Touch, AnyTouch) == (effects.Access, effects.AnyAccess)\n"
        "assert (Start, Hear) == (effects.AsyncAccess, effects.MemoryBarrierWait)",
        flags=ALWAYS_WARN,
    )
    assert ended.returncode == 0, ended.stderr
    assert "DeprecationWarning: tilecore.lowering.race_check.effects.Touch is Access now" in ended.stderr
