"""The built-in backend goes through the same hooks as a stranger's, and stays light."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilecore

PLUGIN = Path(tilecore.__file__).parent / "backends" / "cpu" / "plugin.py"
pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="the built-in backend is not part of this checkout")


def test_it_is_listed_and_works(site):
    (host,) = [target for target in site.cli("targets")["targets"] if target["kind"] == "cpu"]
    assert host["state"] == "ok", host
    assert host["device"]["present"]
    assert host["side_effects"] == []


def test_everything_but_its_lowering_comes_without_tvm_and_torch(site):
    code = "facts = probe.look('cpu', True)\nprint(json.dumps([facts, 'tvm' in sys.modules, 'torch' in sys.modules]))"
    facts, tvm, torch = site.evaluate(code)
    assert facts["state"] == "ok", facts
    assert facts["adapters"][0]["present"]
    assert (tvm, torch) == (False, False)


def test_its_target_is_whole_and_the_same_in_every_process(site):
    code = "print(json.dumps(str(manager.resolve('cpu')[1])))"
    assert site.evaluate(code) == site.evaluate(code)


def test_it_is_the_default_without_another_device(site):
    assert site.evaluate("print(json.dumps(manager.use_default()[0].kind))") == "cpu"


def test_its_lowering_is_a_whole_record(site):
    code = "backend, target = manager.resolve('cpu')\nprint(json.dumps(backend.lowering.family))"
    assert site.evaluate(code) == "loops"


def test_it_works_beside_broken_packages(site):
    (site.folder / "tile_bad.py").write_text("raise SystemExit('half installed')")
    site.install("tile-bad", "0.1", "bad", "tile_bad")
    assert site.evaluate("print(json.dumps(manager.resolve('cpu')[0].package))") == "tilecore"
