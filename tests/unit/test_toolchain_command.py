"""``tilecore toolchain install``: asks, shows, calls the backend's function, and says what it made."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tilecore import cli
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Found, Installable, InstallRequest, Toolchain
from tilecore.errors import PluginError, ToolchainError
from tilecore.plugins import manager
from tilecore.testing import null_backend

NAME = "kit 1.0"


class Kit:
    """What a backend offers; notes how it was asked."""

    def __init__(self):
        self.asked = []
        self.error = None

    def offer(self):
        return Installable(NAME, "tools of Acme, licence: MIT", 3 << 20, 5 << 20, self.installed, self.install)

    def installed(self, folder):
        place = Path(folder, "kit")
        return str(place) if place.exists() else ""

    def install(self, request):
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        for done in (0, 50, 100):
            request.progress("fetching kit", done, 100)
        request.progress("unpacking kit", 7, 0)
        place = Path(request.folder, "kit")
        place.mkdir(exist_ok=True)
        return str(place)


@pytest.fixture
def kit(monkeypatch, tmp_path):
    monkeypatch.setenv("TILECORE_DATA_DIR", str(tmp_path / "data"))
    return Kit()


def with_toolchain(**changes):
    """The null backend with another toolchain, registered."""
    module = ModuleType("backend_with_kit")
    for name in ("tilecore_target", "tilecore_lowering", "tilecore_codegen", "tilecore_adapters"):
        setattr(module, name, getattr(null_backend, name))

    @hookimpl
    def tilecore_toolchain():
        return replace(null_backend.tilecore_toolchain(), **changes)

    module.tilecore_toolchain = tilecore_toolchain
    return manager.register(module, package="tile-kit")


def run(*words, kit=None, **changes):
    if kit is not None:
        changes["installable"] = kit.offer()
    with with_toolchain(**changes), pytest.raises(SystemExit) as ended:
        cli.main(["toolchain", "install", "null", *words])
    return ended.value.code


def test_it_is_installed(kit, capsys, tmp_path):
    assert run("--yes", kit=kit) == 0
    out, err = capsys.readouterr()
    place = tmp_path / "data" / "null" / "kit"
    assert f"{NAME} is installed: {place}" in out
    assert "tools of Acme, licence: MIT" in out + err
    assert "3.0 MiB to fetch, 5.0 MiB in" in out + err
    assert err.count("fetching kit") == 1
    assert "unpacking kit" in err
    (request,) = kit.asked
    assert (request.folder, request.archive) == (str(place.parent), "")


def test_once_is_enough_unless_forced(kit, capsys):
    assert run("--yes", kit=kit) == 0
    assert run(kit=kit) == 0
    assert "is installed already" in capsys.readouterr().out
    assert len(kit.asked) == 1
    assert run("--yes", "--force", kit=kit) == 0
    assert len(kit.asked) == 2


def test_from_a_file(kit, tmp_path, capsys):
    archive = tmp_path / "kit.zip"
    archive.write_text("x")
    assert run("--yes", "--from", os.fspath(archive), kit=kit) == 0
    assert kit.asked[0].archive == os.fspath(archive)
    assert "to fetch" not in "".join(capsys.readouterr())
    assert run("--yes", "--force", "--from", "no/such/file", kit=kit) == 1
    assert "is not a file" in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "installed"), [("y", 1), ("YES", 1), ("", 0), ("n", 0), (EOFError(), 0)])
def test_it_asks(monkeypatch, kit, capsys, typed, installed):
    def answer(prompt):
        if isinstance(typed, EOFError):
            raise typed
        return typed

    monkeypatch.setattr("builtins.input", answer)
    assert run(kit=kit) == 1 - installed
    assert len(kit.asked) == installed
    out = capsys.readouterr().out
    assert ("nothing was installed" in out) == (not installed)
    assert ("--yes" in out) == isinstance(typed, EOFError)


def test_json(kit, capsys, tmp_path):
    assert run("--yes", "--json", kit=kit) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == {"target": "null", "name": NAME, "path": str(tmp_path / "data" / "null" / "kit")}


def test_what_goes_wrong_is_told(kit, capsys, tmp_path):
    kit.error = ToolchainError("the disk is full", hint="make room")
    assert run("--yes", kit=kit) == 1
    assert "tilecore: the disk is full\n  = help: make room" in capsys.readouterr().err
    kit.error = ZeroDivisionError("oops")
    assert run("--yes", kit=kit) == 1
    assert "package tile-kit" in capsys.readouterr().err


def test_what_was_interrupted_can_be_tried_again(kit, capsys, tmp_path):
    """Half of it is there, which is not there: the package is told, and the next try makes it whole."""
    part = tmp_path / "data" / "null" / "kit.part"
    whole = kit.install

    def interrupted(request):
        Path(request.folder, "kit.part").write_text("half")
        raise ConnectionError("the line broke")

    kit.install = interrupted
    assert run("--yes", kit=kit) == 1
    err = capsys.readouterr().err
    assert "package tile-kit" in err
    assert "Installable.install raised ConnectionError: the line broke" in err
    assert "is installed" not in err
    kit.install = lambda request: str(part)
    assert run("--yes", kit=kit) == 1
    assert "Installable.install did not complete the installation" in capsys.readouterr().err
    kit.install = lambda request: request.progress("fetching kit", 1.5, "all") or whole(request)
    assert run("--yes", kit=kit) == 1
    assert "called progress with wrong arguments" in capsys.readouterr().err
    kit.install = whole
    assert run("--yes", kit=kit) == 0
    assert part.read_text() == "half", "what is the package's own is left to it"


def test_nothing_to_install(kit, capsys):
    missing = Found("acme-cc", False, "nowhere", fix="buy it")
    assert run("--yes", find=lambda: [missing]) == 1
    err = capsys.readouterr().err
    assert "nothing that tilecore can install" in err
    assert "acme-cc is missing" in err
    assert "buy it" in err


def test_a_folder_that_cannot_be_made(monkeypatch, kit, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILECORE_DATA_DIR", str(tmp_path / "file"))
    assert run("--yes", kit=kit) == 1
    assert "TILECORE_DATA_DIR" in capsys.readouterr().err
    monkeypatch.setattr("tilecore.settings.data_dir", lambda: None)
    assert run("--yes", kit=kit) == 1
    assert "no home directory is known" in capsys.readouterr().err


def test_a_bar_on_a_terminal(monkeypatch, kit, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run("--yes", kit=kit) == 0
    assert "fetching kit" in capsys.readouterr().err


@pytest.mark.parametrize(
    "broken", ["kit", Installable("", "doc", 1, 1, str, str), Installable("n", "d", -1, 1, str, str)]
)
def test_an_offer_is_checked(broken):
    with with_toolchain(installable=broken), pytest.raises(PluginError, match="'installable' of Toolchain"):
        manager.resolve("null")


def test_what_it_returns_is_checked(kit):
    offer = replace(kit.offer(), install=lambda request: None, installed=lambda folder: None)
    with with_toolchain(installable=offer):
        guarded = manager.resolve("null")[0].toolchain.installable
        with pytest.raises(PluginError, match=r"Installable\.install returned a wrong value"):
            guarded.install(InstallRequest("folder"))
        with pytest.raises(PluginError, match=r"Installable\.installed returned a wrong value"):
            guarded.installed("")


def test_most_toolchains_offer_nothing():
    assert Toolchain(find=list, build=lambda request: (b"", "")).installable is None
