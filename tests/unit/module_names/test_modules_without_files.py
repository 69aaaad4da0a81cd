"""Modules of tilecore that are no files: what they hold, what is left out, and what backends add."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest
from fresh_processes import imported_by

import tilecore
from tilecore.errors import PluginError
from tilecore.module_names import left_out
from tilecore.module_names.table import MODULES, SAME
from tilecore.plugins.module_finder import NamesModule, is_file

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parents[1] / "plugins"))
from host_plugin import registered

HEAVY = ("tvm", "torch", "numpy")


@pytest.mark.parametrize("path", sorted(MODULES))
def test_every_name_of_the_table_is_the_thing_itself(path):
    module = import_module(f"tilecore.{path}")
    assert isinstance(module, NamesModule)
    for name, place in MODULES[path].items():
        where, _, attribute = place.partition(":")
        assert getattr(module, name) is getattr(import_module(where), attribute)
        assert name in dir(module)


def test_no_file_hides_a_module_of_the_table():
    assert [path for path in (*MODULES, *SAME) if is_file(path)] == []


def test_a_module_under_two_names_is_one_module():
    import tilecore.language.dtypes as dtypes

    import tilecore.dtypes

    assert dtypes is tilecore.dtypes
    assert dtypes.float16 == tilecore.language.float16


def test_names_are_attributes_of_tilecore_without_an_import():
    assert tilecore.utils.tensor.torch_assert_close is tilecore.testing.torch_assert_close
    assert tilecore.tools.Analyzer is import_module("tilecore.tools.Analyzer").Analyzer  # the class, not the module


@pytest.mark.parametrize(
    "code", ["import tilecore.utils.tensor", "import tilecore; tilecore.utils", "import tilecore.carver"]
)
def test_importing_a_module_of_the_table_is_light(code):
    assert imported_by(code, HEAVY) == []


def test_a_name_that_nobody_has():
    with pytest.raises(AttributeError, match="has no attribute 'torch_asert_close'; did you mean 'torch_assert_close'"):
        tilecore.utils.tensor.torch_asert_close  # noqa: B018
    with pytest.raises(AttributeError, match="module 'tilecore' has no attribute 'nothing_such'"):
        tilecore.nothing_such  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tilecore.nothing_such'"):
        import_module("tilecore.nothing_such")


LEFT_OUT = [
    "from tilecore.transform import LowerTileOp",
    "from tilecore.transform.decouple_type_cast import DecoupleTypeCast",
    "from tilecore.backend import create_backend_context",
    "import tilecore.instrumentation",
    "from tilecore.utils import pass_diff_hook",
    "from tilecore.ir import make_span",
]


@pytest.mark.parametrize("code", LEFT_OUT)
def test_what_is_left_out_is_an_import_error_that_says_what_to_use(code):
    with pytest.raises(ImportError, match=r"a part of TileLang's own compiler.*instead: .+"):
        exec(code, {})


def test_what_is_left_out_is_no_attribute():
    with pytest.raises(AttributeError, match=r"instead: .*docs/write-a-backend.md"):
        tilecore.backend.register_backend  # noqa: B018
    assert not hasattr(tilecore, "autodd")


def test_nothing_that_is_there_is_called_left_out():
    for path in (*left_out.MODULES, *left_out.NAMES):
        parent, _, name = path.rpartition(".")
        assert path not in MODULES
        assert name not in MODULES.get(parent, ())


# -- modules of backends --------------------------------------------------------------------------------------------

HELPERS = "host_plugin"


def test_a_backend_offers_modules_and_names():
    offered = {"acme": HELPERS, "carver.arch.ACME": f"{HELPERS}:Plugin", "contrib.acmec": HELPERS}
    with registered(modules=offered):
        import host_plugin

        assert import_module("tilecore.acme").registered is host_plugin.registered
        assert tilecore.carver.arch.ACME is host_plugin.Plugin
        assert import_module("tilecore.contrib.acmec").Plugin is host_plugin.Plugin
        assert "ACME" in dir(tilecore.carver.arch)
    for name in ("tilecore.acme", "tilecore.contrib.acmec"):
        sys.modules.pop(name, None)
    del tilecore.acme
    with pytest.raises(ModuleNotFoundError):
        import_module("tilecore.acme")
    with pytest.raises(ImportError, match=r"no installed backend offers tilecore.contrib.acmec"):
        import_module("tilecore.contrib.acmec")


@pytest.mark.parametrize("path", ["utils", "utils.tensor.torch_assert_close", "language", "jit.kernel"])
def test_a_backend_may_not_offer_what_the_core_has(path):
    from tilecore.plugins import manager

    with registered(modules={path: HELPERS}), pytest.raises(PluginError, match="has modules of tilecore's own"):
        manager.get("acme")


def test_of_two_backends_the_default_targets_name_is_used(monkeypatch):
    from tilecore.language import float8

    assert import_module("tilecore.language.fp8").determine_fp8_type("e5m2") == "float8_e5m2"
    with registered(modules={"language.fp8.determine_fp8_type": f"{HELPERS}:registered"}):
        monkeypatch.setenv("TILECORE_TARGET", "cpu")
        fp8 = import_module("tilecore.language.fp8")
        fp8.__dict__.pop("determine_fp8_type", None)
        assert fp8.determine_fp8_type is float8.determine_fp8_type
        fp8.__dict__.pop("determine_fp8_type")
        monkeypatch.setenv("TILECORE_TARGET", "acme")
        assert fp8.determine_fp8_type is registered
        fp8.__dict__.pop("determine_fp8_type")


def test_no_backend_looks_for_a_device_where_another_name_is_missing(monkeypatch):
    """Tools ask tilecore for any name, as pytest does for ``setup_module``; two backends share another name."""
    from tilecore.plugins import manager

    def use_default():
        raise AssertionError("the default target was asked for")

    with registered(modules={"language.fp8.determine_fp8_type": f"{HELPERS}:registered"}):
        monkeypatch.setattr(manager, "use_default", use_default)
        assert not hasattr(tilecore, "setup_module")
        assert not hasattr(tilecore.carver, "setup_module")
        fp8 = import_module("tilecore.language.fp8")
        fp8.__dict__.pop("determine_fp8_type", None)
        with pytest.raises(AssertionError, match="was asked for"):
            fp8.determine_fp8_type  # noqa: B018
