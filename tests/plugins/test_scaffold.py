"""What `tilecore new-backend` writes works before it is edited."""

from __future__ import annotations

import json
import os
import re

import pytest

from tilecore.errors import ArgumentError
from tilecore.scaffold.package import TEMPLATES, write_package
from tilecore.simulate.compilers import find_compiler


def test_it_is_whole(acme):
    written = {path.relative_to(acme.package).as_posix() for path in acme.package.rglob("*") if path.is_file()}
    rooms = {f"tile_acme/{room}.py" for room in ("target", "lowering", "codegen", "toolchain", "adapter", "plugin")}
    assert rooms | {"pyproject.toml", "README.md", ".github/workflows/ci.yml", "tests/test_backend.py"} <= written
    assert "tile_acme/include/tile_acme.h" in written
    texts = [(acme.package / name).read_text() for name in written if "egg-info" not in name and "build/" not in name]
    assert not [text for text in texts if re.search(r"@[A-Z]+@", text)]


def test_it_is_short(acme):
    lines = sum(len(path.read_text().splitlines()) for path in (acme.package / "tile_acme").glob("*.py"))
    assert lines < 300


def test_it_is_listed(acme):
    (target,) = [target for target in acme.cli("targets")["targets"] if target["kind"] == "acme"]
    assert target["state"] == "ok", target
    assert target["side_effects"] == []


def test_its_own_tests_pass(acme):
    find_compiler()
    ended = acme.run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(acme.package / "tests"), timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_it_conforms_at_once(acme, tmp_path):
    """Some of the kit; all of it passes, and takes minutes."""
    words = "test_registration or test_compiles or test_block_order or test_grid_sync"
    out = tmp_path / "acme.json"
    ended = acme.run(
        "-m", "tilecore", "conform", "--target", "acme", "--level", "2", "-k", words, "--out", str(out), timeout=600,
        PATH=os.environ["PATH"],
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (report,) = json.loads(out.read_text())
    assert report["reached"] == 2
    assert report["package"] == "tile-acme"


@pytest.mark.parametrize("name", ["Acme", "2fast", "a-b", "", "a b"])
def test_names_that_cannot_be(name, tmp_path):
    with pytest.raises(ArgumentError, match="lower-case letters"):
        write_package(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(ArgumentError, match="is not empty"):
        write_package("acme", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_templates_are_shipped():
    assert len(list(TEMPLATES.rglob("*.in"))) >= 12
