"""Every function of the contract has a case in which it raises and one in which it returns nonsense.

The functions are read off the records, KernelAdapter and the hooks. A case is a package of the tables broken_*.py, or
a test elsewhere: "folder/file.py::test", with the parameter's id in brackets where there is one.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from broken_adapters import PACKAGES as ADAPTERS
from broken_hooks import PACKAGES as FAULTY_HOOKS
from broken_modules import PACKAGES as MODULES

from tilecore.contract import records as backend
from tilecore.contract.adapter import LoadedKernel
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import Pass, PassEdit
from tilecore.contract.timing import Timer
from tilecore.plugins.guarded_adapter import METHODS
from tilecore.plugins.loader import HOOKS

TESTS = Path(__file__).parents[1]
BROKEN = {package.kind for package in (*FAULTY_HOOKS, *ADAPTERS, *MODULES)}
PASSES = "unit/plugins/test_plugin_passes.py"
CODEGEN = "unit/plugins/test_plugin_codegen.py::test_a_broken_code_generator"
LANGUAGE = "unit/language/test_dialects.py"
IN_PLACE = f"{PASSES}::test_operands_in_place"
PASSING = f"{PASSES}::test_operands_copied_in_passing"
FRAGMENTS = f"{PASSES}::test_layouts_of_fragments"
RAISING_PART = f"{PASSES}::test_an_exception_in_an_implementation_names_package_and_part"
WRONG_PART = f"{PASSES}::test_answers_of_another_kind_are_the_plugins_fault"
WRONG = "returned a wrong value"
NOTHING = "its result is not looked at"

# name: (where it raises, where it returns nonsense)
CASES: dict[str, tuple[str, str]] = {
    **{f"tilecore_{hook}": (f"raises_in_{hook}", f"nonsense_from_{hook}") for hook in (
        "target", "lowering", "codegen", "toolchain", "adapters")},
    **{f"{record}.{name}": (f"raises_later_in_{name}", f"nonsense_later_from_{name}") for record, names in {
        "TargetSpec": ("capabilities", "detect", "resolve", "known_failures", "refused_names"),
        "Toolchain": ("find", "build", "version", "describe", "remarks"),
        "Installable": ("installed", "install"),
    }.items() for name in names},
    "TargetSpec.language": (
        f"{LANGUAGE}::test_a_name_that_raises_names_the_package_and_the_users_line",
        f"{LANGUAGE}::test_a_place_that_is_not_there_names_the_package",
    ),
    "Codegen.function": (f"{CODEGEN}[raises]", f"{CODEGEN}[nothing]"),
    "Codegen.register": ("raises_later_in_register", f"{CODEGEN}[is not registered]"),
    "Pass.run": (
        f"{PASSES}::test_an_exception_in_a_pass_names_package_and_pass[at a gap]",
        f"{WRONG_PART}[pass swizzle_banks {WRONG}]",
    ),
    **{f"TileOpImpl.{name}": (f"{RAISING_PART}[{name}]", f"{WRONG_PART}[bulk of T.copy: {name} {WRONG}]")
       for name in ("matches", "layouts", "lower")},
    "TileOpImpl.copies_in_passing": (f"{PASSING}[raised KeyError: 'bank']", f"{PASSING}[{WRONG}]"),
    "TileOpImpl.in_place": (f"{IN_PLACE}[raised KeyError: 'bank']", f"{IN_PLACE}[{WRONG}]"),
    **{f"TileOpImpl.{name}": (
        f"{FRAGMENTS}[{name} raised KeyError: 'bank']", f"{FRAGMENTS}[{name} {WRONG}]")
       for name in ("fragments", "relate")},
    **{f"KernelAdapter.{name}": (f"adapter_raises_in_{name}", f"adapter_nonsense_from_{name}") for name in (
        "available", "target", "fit", "machine", "load", "host_code", "binary_formats", "current_stream", "capture",
        "timer", "empty", "torch_device", "largest_run", "allocate", "device_ranges", "foreign_tensor")},
    "KernelAdapter.synchronize": ("adapter_raises_in_synchronize", NOTHING),
    "Timer.start": ("adapter_raises_in_timer_start", NOTHING),
    "Timer.stop": ("adapter_raises_in_timer_stop", NOTHING),
    "Timer.elapsed": ("adapter_raises_in_timer_elapsed", "adapter_nonsense_from_timer_elapsed"),
    **{f"LoadedKernel.{name}": (f"adapter_raises_in_{name}", f"adapter_nonsense_from_{name}") for name in (
        "launch", "error", "advice")},
}  # fmt: skip

# Fields that are called although their types do not say so; what tilecore hands to a plugin, or does not call any more.
CALLED = {"TargetSpec.language", "Codegen.function", "LoadedKernel.launch"}
HANDED = {"InstallRequest.progress", "Lowering.stand_in"}
# Fields of what an adapter loads that are no functions; a wrong one is found when it is loaded.
FIELDS = {
    "LoadedKernel.state": "adapter_wrong_state",
    "LoadedKernel.sizes": "adapter_wrong_sizes",
    "LoadedKernel.on_device": "adapter_wrong_on_device",
    "LoadedKernel.takes_tensors": "adapter_wrong_takes_tensors",
    "LoadedKernel.owner": NOTHING,
    "KernelAdapter.device": "adapter_wrong_device",
    "KernelAdapter.tensor_streams": "adapter_wrong_streams",
    "KernelAdapter.host_tensors": "adapter_wrong_host_tensors",
}
JOINED = backend.Backend
RECORDS = [
    *(record for record in vars(backend).values() if dataclasses.is_dataclass(record) and record is not JOINED),
    LoadedKernel,
    PassEdit,
    Pass,
    TileOpImpl,
]


def functions() -> set[str]:
    """Every function of the contract, by record or class and name."""
    fields = {f"{record.__name__}.{f.name}": str(f.type) for record in RECORDS for f in dataclasses.fields(record)}
    methods = {f"KernelAdapter.{name}" for name in METHODS}
    times = {f"Timer.{name}" for name, member in vars(Timer).items() if callable(member) and not name.startswith("_")}
    called = {name for name, kind in fields.items() if "Callable" in kind} - HANDED
    assert set(fields) >= CALLED | HANDED
    return called | CALLED | methods | times | set(HOOKS)


def test_every_function_has_its_cases():
    assert functions() == set(CASES)
    assert len(functions()) > 35, "the records are read"


def test_every_field_of_a_loaded_kernel_has_a_case():
    fields = {f"LoadedKernel.{field.name}" for field in dataclasses.fields(LoadedKernel)}
    assert fields == {name for name in (*CASES, *FIELDS) if name.startswith("LoadedKernel.")}


@pytest.mark.parametrize("place", sorted({p for pair in CASES.values() for p in pair} | set(FIELDS.values())))
def test_the_package_or_file_of_a_case_is_there(place):
    if "::" in place:
        assert (TESTS / place.partition("::")[0]).is_file()
    elif place != NOTHING:
        assert place in BROKEN


def test_the_tests_that_are_named_are_there():
    named = {place for pair in CASES.values() for place in pair if "::" in place}
    files = sorted({str(TESTS / place.partition("::")[0]) for place in named})
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-o", "addopts=", "-p", "no:cacheprovider", *files]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=240, cwd=TESTS.parent)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    collected = {line.removeprefix("tests/") for line in ended.stdout.splitlines()}
    assert named - collected == set()
