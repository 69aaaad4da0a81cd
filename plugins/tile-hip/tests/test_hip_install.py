"""``tilecore toolchain install hip``: a compiler and the math library, from small archives made up here.

tests/unit/test_wheels.py tests downloads, damaged files and interruptions.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tile_hip import install, search

from tilecore import cli
from tilecore.errors import ToolchainError

MEMBERS = {
    "zig": {"ziglang/zig": b"#!/bin/sh\necho clang version 22.1.8\n", "ziglang/LICENSE": b"MIT", "ziglang/lib/x": b"x"},
    "library": {install._LIBRARY: b"BC", "iree/compiler/tools/iree-compile": b"large"},
}


@pytest.fixture
def archives(tmp_path, monkeypatch):
    """Small wheels with the names of the published ones, which are accepted in their place."""
    monkeypatch.setenv("TILECORE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    paths = {}
    for part, wheel in (("zig", install.ZIG["x86_64"]), ("library", install.LIBRARY)):
        path = tmp_path / wheel.file
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in MEMBERS[part].items():
                archive.writestr(name, data)
        small = replace(wheel, sha256=hashlib.sha256(path.read_bytes()).hexdigest(), unpacked_bytes=100)
        if part == "zig":
            monkeypatch.setitem(install.ZIG, "x86_64", small)
        else:
            monkeypatch.setattr(install, "LIBRARY", small)
        paths[part] = path
    return paths


def command(*words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["toolchain", "install", "hip", *words])
    return ended.value.code


def test_from_an_archive(archives, tmp_path, capsys):
    assert command("--yes", "--from", str(archives["zig"])) == 0
    out, err = capsys.readouterr()
    folder = tmp_path / "data/hip/ziglang-0.17.1"
    assert f"is installed: {folder}" in out
    assert "MIT" in out + err
    assert "Apache-2.0" in out + err
    assert f"unpacking {archives['zig'].name}" in err
    kept = {path.name for path in folder.rglob("*") if path.is_file()}
    assert kept == {"zig", "LICENSE", "installed.json"}
    assert search.Candidate((str(folder / "ziglang/zig"), "clang"), install.COMMAND) in search.candidates()
    assert (
        search.install.library_folder() / "ocml.bc"
        == tmp_path / "data/hip/iree-base-compiler-3.13.0" / install._LIBRARY
    )
    assert command("--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(folder), "is installed already, nothing is fetched"


def test_the_other_archive_is_missing(archives, tmp_path, capsys):
    archives["library"].unlink()
    assert command("--yes", "--from", str(archives["zig"])) == 1
    error = capsys.readouterr().err
    assert f"{archives['library'].name} is needed, too" in error
    assert "pip download --no-deps --only-binary=:all: --python-version 3.12" in error
    assert install.installed(str(tmp_path / "data/hip")) == ""


def test_other_machines(monkeypatch):
    monkeypatch.setattr(install, "platform", SimpleNamespace(machine=lambda: "riscv64", system=lambda: "Linux"))
    with pytest.raises(ToolchainError, match="cannot install a compiler") as error:
        install.wheels()
    assert error.value.found == "Linux on riscv64"
    assert "TILE_HIP_CLANG" in (error.value.hint or "")
    assert install.installed("/none") == ""
    assert install.compiler_folder() is None
