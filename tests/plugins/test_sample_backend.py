"""A stranger's package, built and installed by pip, goes through its entry point like any other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "sample_backend"


@pytest.fixture(scope="module")
def installed(make_site, tmp_path_factory):
    """tile-sample, as pip installs it; from a copy, since a build writes into its source folder."""
    site = make_site("installed")
    copy = tmp_path_factory.mktemp("source") / "sample_backend"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    site.pip_install(copy)
    assert list(site.folder.glob("tile_sample-0.3.1.dist-info"))
    return site


def test_targets_lists_it(installed):
    facts = installed.cli("targets")
    targets = {target["kind"]: target for target in facts["targets"]}
    assert facts["code"] == 0
    assert "cpu" in targets
    sample = targets["sample"]
    assert sample["state"] == "ok"
    assert sample["aliases"] == ["sample-wide"]
    assert sample["packages"] == [{"name": "tile-sample", "version": "0.3.1", "module": "tile_sample.plugin"}]
    assert sample["device"] == {"present": False, "detail": "SAMPLE_DEVICE is not set"}


def test_table_has_a_line_for_it(installed):
    ended = installed.run("-m", "tilecore", "targets")
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("sample")]
    assert line.split()[:3] == ["sample", "ok", "no:"]
    assert line.split()[-3:] == ["sample-wide", "tile-sample", "0.3.1"]


def test_listing_kinds_imports_no_plugin(installed):
    code = "import sys\nkinds = manager.kinds()\nprint(json.dumps([kinds, 'tile_sample' in sys.modules]))"
    kinds, imported = installed.evaluate(code)
    assert "sample" in kinds
    assert not imported


def test_using_one_imports_only_that_one(installed):
    code = (
        "import sys\nmanager.resolve('sample')\n"
        "print(json.dumps([m in sys.modules for m in ('tile_sample', 'tilecore.backends.cpu.plugin', 'tvm', 'torch')]))"
    )
    assert installed.evaluate(code) == [True, False, False, False]


def test_alias_default_and_detected_attributes(installed):
    code = "print(json.dumps([str(manager.resolve(t)[1]) for t in ('sample', 'sample-wide', 'sample-wide -lanes=1')]))"
    assert installed.evaluate(code, SAMPLE_DEVICE="s2") == [
        "sample -checked=false -lanes=4 -model=s2",
        "sample -checked=false -lanes=8 -model=s2",
        "sample -checked=false -lanes=1 -model=s2",
    ]


def test_auto_takes_the_device_that_is_there(installed):
    code = "print(json.dumps(manager.resolve('auto')[0].kind))"
    assert installed.evaluate(code, SAMPLE_DEVICE="s1") == "sample"
    assert installed.evaluate(code, TILECORE_TARGET="sample-wide") == "sample"


def test_doctor_reports_tools_and_adapters(installed):
    facts = installed.cli("doctor")
    (sample,) = [target for target in facts["targets"] if target["kind"] == "sample"]
    assert sample["state"] == "ok"
    assert [tool["present"] for tool in sample["toolchain"]] == [True, False]
    assert sample["toolchain"][1]["fix"] == "pip install sample-profiler"
    assert sample["adapters"] == [{"name": "sample", "present": True, "detail": "simulated"}]
    assert sample["private_imports"] == []
    assert "sample" not in " ".join(facts["broken"])


def test_doctor_names_private_imports(installed):
    module = installed.folder / "tile_sample" / "curious.py"
    module.write_text("from tilecore.jit.kernel import JITKernel\n")
    (sample,) = [target for target in installed.cli("doctor")["targets"] if target["kind"] == "sample"]
    module.unlink()
    assert sample["private_imports"] == ["curious.py:1 imports tilecore.jit.kernel.JITKernel"]
    assert sample["state"] == "ok"


def test_a_broken_neighbour_changes_nothing(installed):
    (installed.folder / "tile_bad.py").write_text("raise ImportError('half installed')")
    installed.install("tile-bad", "0.1", "bad", "tile_bad")
    facts = installed.cli("targets")
    states = {target["kind"]: target["state"] for target in facts["targets"]}
    assert states["sample"] == "ok"
    assert states["bad"] == "broken"
    assert installed.evaluate("print(json.dumps(str(manager.resolve('sample')[1])))").startswith("sample ")
