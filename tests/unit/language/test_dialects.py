"""Names that a backend adds to the language: they are found while it is there, and run on its target only."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.hookspecs import hookimpl
from tilecore.errors import LanguageError, PluginError, UnsupportedError
from tilecore.interpreter.program import Program
from tilecore.ir.language_names import names_of_the_core
from tilecore.ir.nodes import IntImm
from tilecore.ir.register_call import register_call
from tilecore.ir.tile_ops import TileOp, register_tile_op, tile_call
from tilecore.language.dialects import backend_names, emit_call
from tilecore.language.foreign import MissingNameError
from tilecore.plugins import manager
from tilecore.testing import null_backend

SPIN = register_call("acme.spin")


def spin(times: int) -> None:
    """Spin so often."""
    emit_call("acme", "T.spin", SPIN, [IntImm("int32", times)])


class Acme:
    """The null backend under another name, with names of its own."""

    def __init__(self, kind: str = "acme", place: str = "acme_language:spin", name: str = "spin") -> None:
        self.kind, self.language = kind, {name: place}

    @hookimpl
    def tilecore_target(self):
        return replace(null_backend.tilecore_target(), kind=self.kind, aliases={}, language=self.language)

    @hookimpl
    def tilecore_lowering(self):
        return null_backend.tilecore_lowering()

    @hookimpl
    def tilecore_codegen(self):
        return replace(null_backend.tilecore_codegen(), function=f"target.build.tilecore_{self.kind}")

    @hookimpl
    def tilecore_adapters(self):
        return null_backend.tilecore_adapters()


@pytest.fixture(autouse=True)
def acme_language(monkeypatch, tmp_path):
    (tmp_path / "raising_language.py").write_text("1 // 0")
    monkeypatch.syspath_prepend(tmp_path)
    module = ModuleType("acme_language")
    module.spin = spin
    monkeypatch.setitem(sys.modules, "acme_language", module)


def spinning():
    @T.prim_func
    def spinning(X: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            T.spin(3)  # here
            X[0] = 1.0

    return spinning


def test_a_name_is_there_while_its_backend_is():
    assert not hasattr(T, "spin")
    with manager.register(Acme(), package="tile-acme"):
        assert T.spin is spin
        assert "spin" in backend_names()
        assert "acme.spin" in str(spinning().ir)
    with pytest.raises(MissingNameError):
        _ = T.spin


def test_a_close_name_is_guessed():
    with manager.register(Acme(), package="tile-acme"), pytest.raises(AttributeError, match=r"did you mean T\.spin\?"):
        _ = T.spinn


def test_other_targets_refuse_it_at_its_line():
    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# here"))
    with manager.register(Acme(), package="tile-acme"):
        func = spinning()
        for attempt in (lambda: tilecore.compile(func, target="cpu"), lambda: Program(func)):
            with pytest.raises(UnsupportedError, match=r"T\.spin belongs to the target 'acme'") as caught:
                attempt()
            assert caught.value.location.line == line
            assert "target='acme'" in str(caught.value)
            assert "T.gemm" in str(caught.value.hint)


def test_a_backend_that_offers_a_name_of_the_core_is_not_loaded():
    with manager.register(Acme(name="copy"), package="tile-acme"):
        from tilecore.language.copies import copy

        assert T.copy is copy
        with pytest.raises(PluginError, match=r"tile-acme.*field 'language' of TargetSpec has names of") as caught:
            manager.get("acme")
        assert caught.value.found == "T.copy"


def test_every_name_of_the_core_is_refused():
    imports = {"Any", "ModuleType", "annotations", "importlib", "sys"}
    for submodule in ("allocate", "fp8", "gemm"):  # an import gives T the module as an attribute
        importlib.import_module(f"tilecore.language.{submodule}")
    public_names = {name for name in dir(T) if name.isidentifier() and not name.startswith("_")}
    assert public_names - imports <= names_of_the_core()


def test_a_place_that_is_not_there_names_the_package():
    with manager.register(Acme(place="acme_language:turn"), package="tile-acme"):
        with pytest.raises(PluginError, match=r"tile-acme.*acme_language has no 'turn'.* T.spin") as caught:
            _ = T.spin
        assert "pip install --upgrade tile-acme" in caught.value.hint
    with manager.register(Acme(place="no_such_module:spin"), package="tile-acme"):
        with pytest.raises(PluginError, match=r"tile-acme.*ModuleNotFoundError"):
            _ = T.spin
    with manager.register(Acme(place="raising_language:spin"), package="tile-acme"):
        with pytest.raises(PluginError, match=r"importing raising_language:spin, its T.spin raised ZeroDivisionError"):
            _ = T.spin


def test_a_name_that_raises_names_the_package_and_the_users_line(monkeypatch):
    """A wrong call of it is the user's own mistake; what it raises itself is the package's."""

    def rotate(times):
        return {}[times]

    sys.modules["acme_language"].rotate = rotate

    def rotating(*arguments):
        @T.prim_func
        def rotating(X: T.Tensor((8,), "float32")):
            with T.Kernel(1, threads=32):
                T.rotate(*arguments)  # rotated here
                X[0] = 1.0

        return rotating.ir

    line = next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# rotated here")
    )
    with manager.register(Acme(name="rotate", place="acme_language:rotate"), package="tile-acme", version="1.5"):
        with pytest.raises(PluginError, match=r"package tile-acme 1\.5\): T\.rotate raised KeyError: 3") as caught:
            rotating(3)
        assert isinstance(caught.value.__cause__, KeyError)
        assert caught.value.location.line == line
        assert "pip install --upgrade tile-acme" in caught.value.hint
        with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
            rotating(3, 4)


def test_two_targets_may_share_a_function_but_not_a_name():
    with manager.register(Acme(), package="tile-acme"):
        with manager.register(Acme("acme2"), package="tile-acme2"):
            assert T.spin is spin
        with manager.register(Acme("acme2", "other_language:spin"), package="tile-acme2"):
            with pytest.raises(LanguageError, match=r"T\.spin is defined by several targets: acme, acme2"):
                _ = T.spin


def test_a_wrong_table_is_refused():
    for table in ({"spin": "no colon"}, {"not a name": "module:spin"}, {"spin": 3}):
        plugin = Acme()
        plugin.language = table
        with manager.register(plugin, kind="acme", package="tile-acme"), pytest.raises(PluginError, match="'language'"):
            manager.target_spec("acme")


def test_operations_on_tiles_of_a_backend():
    op = TileOp("acme.turn", ("src:region", "dst:region"), ("src",), ("dst",))
    assert register_tile_op(op) is op
    assert register_tile_op(op) is op
    assert tile_call("acme.turn", []).op.name == "tile.acme.turn"
    with pytest.raises(ValueError, match="another operation"):
        register_tile_op(TileOp("acme.turn", ("src:region",)))
    with pytest.raises(ValueError, match="<kind>"):
        register_tile_op(TileOp("turn", ()))
