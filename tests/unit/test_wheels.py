"""Wheels are downloaded, checked and unpacked to a temporary folder; each is complete or not installed."""

from __future__ import annotations

import errno
import hashlib
import importlib.machinery
import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tilecore.contract.records import InstallRequest
from tilecore.errors import ToolchainError
from tilecore.wheels import fetch, install
from tilecore.wheels.record import Wheel

PROGRAM = "acme/bin/acmecc"
KEPT = {PROGRAM: b"program " * 3, "acme/lib/acme.so": b"library", "acme-1.0.dist-info/METADATA": b"Name: acme\n"}
LEFT = {"acme/lib/libc.so.6": b"never", "acme/python/tool.py": b"code"}


def wheel_of(path, members, **fields):
    """A wheel of these members, and its record."""
    write(path, members)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    facts = {"is_needed": KEPT.__contains__, "required": (PROGRAM,), "executables": (PROGRAM,)} | fields
    return Wheel("acme", "1.0", path.name, path.stat().st_size, digest, 1000, **facts)


def write(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive_file:
        for name, text in members.items():
            archive_file.writestr(name, text)


def accepted(wheel, path):
    """The record of a wheel that has this file's digest."""
    return replace(wheel, sha256=hashlib.sha256(path.read_bytes()).hexdigest(), file_bytes=path.stat().st_size)


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "acme-1.0-py3-none-any.whl"


@pytest.fixture
def wheel(archive):
    return wheel_of(archive, KEPT | LEFT, pip_options=("--python-version", "3.12"))


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "data" / "acme"
    path.mkdir(parents=True)
    return path


def request(folder, archive="", progress=lambda *_: None):
    return InstallRequest(os.fspath(folder), os.fspath(archive), progress)


def put(wheel, folder, archive="", progress=lambda *_: None):
    """Installs the wheel and returns its folder."""
    (where,) = install.install(request(folder, archive, progress), [wheel])
    return where


def test_from_a_file(wheel, archive, folder):
    seen = []
    where = put(wheel, folder, archive, lambda *facts: seen.append(facts))
    assert where == folder / wheel.folder
    assert install.installed_folder(folder, wheel) == where
    for name, text in KEPT.items():
        assert (where / name).read_bytes() == text
    assert os.access(where / PROGRAM, os.X_OK)
    for name in LEFT:
        assert not (where / name).exists()
    assert [p.name for p in folder.iterdir()] == [wheel.folder]
    assert archive.exists()
    assert {step.split()[0] for step, _, _ in seen} == {"checking", "unpacking"}
    assert all(0 <= done <= total for _, done, total in seen)
    assert seen[-1][1] == seen[-1][2]


def test_installed_means_whole(wheel, archive, folder):
    assert install.installed_folder(folder, wheel) is None
    assert install.installed_folder(Path("/no/such/folder"), wheel) is None
    where = put(wheel, folder, archive)
    victim = where / PROGRAM
    victim.write_bytes(b"short")
    assert install.installed_folder(folder, wheel) is None
    put(wheel, folder, archive)  # in place of the damaged one
    assert victim.read_bytes() == KEPT[PROGRAM]
    assert install.installed_folder(folder, wheel)
    (where / install.MANIFEST).write_text("[]")
    assert install.installed_folder(folder, wheel) is None


def test_another_file_is_refused(wheel, archive, folder):
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    with pytest.raises(ToolchainError, match="is not") as caught:
        put(wheel, folder, archive)
    assert wheel.sha256 in str(caught.value)
    assert list(folder.iterdir()) == []
    with pytest.raises(ToolchainError, match="cannot be read"):
        put(wheel, folder, folder / "none")


@pytest.mark.parametrize("damage", ["cut", "no zip", "lacks"])
def test_an_archive_that_is_not_whole(wheel, archive, folder, damage):
    if damage == "cut":
        archive.write_bytes(archive.read_bytes()[:-40])
    elif damage == "no zip":
        archive.write_bytes(b"hello")
    else:
        write(archive, {k: v for k, v in KEPT.items() if k != PROGRAM})
    wheel = accepted(wheel, archive)
    with pytest.raises(ToolchainError, match=r"not a complete wheel|lacks acme/bin/acmecc"):
        put(wheel, folder, archive)
    assert list(folder.iterdir()) == []


def test_a_damaged_member_is_noticed(wheel, archive, folder):
    data = bytearray(archive.read_bytes())
    at = data.index(b"PK\x03\x04") + 30 + len(PROGRAM) + 2
    data[at] ^= 0xFF
    archive.write_bytes(bytes(data))
    wheel = accepted(wheel, archive)
    with pytest.raises(ToolchainError, match="not a complete wheel"):
        put(wheel, folder, archive)
    assert list(folder.iterdir()) == []


def test_no_room(monkeypatch, wheel, archive, folder):
    monkeypatch.setattr(install.shutil, "disk_usage", lambda path: SimpleNamespace(free=5 << 20))
    with pytest.raises(ToolchainError, match="enough free space") as caught:
        put(wheel, folder, archive)
    assert caught.value.found == "5 MiB free"
    assert "TILECORE_DATA_DIR" in (caught.value.hint or "")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), OSError(errno.EACCES, "no"), KeyboardInterrupt()])
def test_interrupted_while_unpacking(monkeypatch, wheel, archive, folder, error):
    before = put(wheel, folder, archive)
    real, count = zipfile.ZipFile.extract, iter(range(100))

    def extract(self, *args):
        if next(count) == 2:
            raise error
        return real(self, *args)

    monkeypatch.setattr(zipfile.ZipFile, "extract", extract)
    expected = {errno.ENOSPC: "the disk is full", errno.EACCES: "cannot be written"}.get(getattr(error, "errno", 0))
    with pytest.raises(ToolchainError if expected else KeyboardInterrupt, match=expected):
        put(wheel, folder, archive)
    assert install.installed_folder(folder, wheel) == before  # the old one is still there, whole
    assert [p.name for p in folder.iterdir()] == [wheel.folder]


def test_files_of_a_killed_installation_are_removed(wheel, archive, folder):
    dead = folder / ".unpacking-4194305-abc"  # above the largest process number of Linux
    alive = folder / f".unpacking-{os.getppid()}-abc"
    for left in (dead, alive):
        left.mkdir()
        (left / "part").write_text("x")
    put(wheel, folder, archive)
    assert not dead.exists()
    assert alive.exists()


PIP = """#!{python}
import os, shutil, sys
words = sys.argv[1:]
assert words[:4] == ["-m", "pip", "download", "--no-deps"], words
assert words[words.index("--python-version") + 1] == "3.12"
with open({log!r}, "a") as log:
    log.write("called\\n")
out = words[words.index("-d") + 1]
os.makedirs(out)
output = {output!r}
if output:
    print(output)
    sys.exit(1)
with open(os.path.join(os.environ["TMPDIR"], "part"), "wb") as part:
    part.write(b"x" * 100)
shutil.copy({source!r}, out)
"""


@pytest.fixture
def pip(monkeypatch, tmp_path, archive):
    """In place of pip: copies the archive, or fails with ``output``. Returns a function that sets it up."""
    log = tmp_path / "log"

    def set_up(output="", source=archive):
        program = tmp_path / "python"
        facts = {"python": PYTHON, "output": output, "source": os.fspath(source), "log": os.fspath(log)}
        program.write_text(PIP.format(**facts))
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", os.fspath(program))
        return lambda: log.read_text().count("called") if log.exists() else 0

    return set_up


PYTHON = sys.executable


def test_fetched_by_pip(pip, wheel, folder):
    pip()
    seen = []
    put(wheel, folder, progress=lambda *facts: seen.append(facts))
    assert install.installed_folder(folder, wheel)
    assert [p.name for p in folder.iterdir()] == [wheel.folder]  # what was fetched is gone
    assert any(step.startswith("fetching") for step, _, _ in seen)


def test_a_whole_download_is_not_fetched_again(monkeypatch, pip, wheel, folder):
    calls = pip()
    monkeypatch.setattr(install, "unpack", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        put(wheel, folder)
    monkeypatch.undo()
    put(wheel, folder)
    assert calls() == 1
    assert install.installed_folder(folder, wheel)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("WARNING: NewConnectionError: Temporary failure in name resolution", "does not reach its index"),
        ("ERROR: Read timed out.", "does not reach its index"),
        ("ERROR: Could not find a version that satisfies the requirement", "pip cannot download"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
    ],
)
def test_pip_fails(pip, wheel, folder, output, words):
    pip(output)
    with pytest.raises(ToolchainError, match=words) as caught:
        put(wheel, folder)
    assert "--from" in (caught.value.hint or "") or "TILECORE_DATA_DIR" in (caught.value.hint or "")
    assert install.installed_folder(folder, wheel) is None
    assert list(folder.glob("fetched/*")) == []


def test_pip_brings_another_file(pip, wheel, folder, tmp_path):
    other = tmp_path / "other" / wheel.file
    other.parent.mkdir()
    other.write_bytes(b"something else")
    pip(source=other)
    with pytest.raises(ToolchainError, match="as it was published"):
        put(wheel, folder)
    assert list(folder.glob("fetched/*")) == []


def test_no_pip(monkeypatch, wheel, folder):
    monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="this Python does not have") as caught:
        fetch.fetch(wheel, folder / "fetched", lambda *_: None)
    assert "--from" in (caught.value.hint or "")


def test_the_manifest_names_every_file(wheel, archive, folder):
    where = put(wheel, folder, archive)
    sizes = json.loads((where / install.MANIFEST).read_text())
    assert sizes == {name: len(text) for name, text in KEPT.items()}


@pytest.fixture
def second(tmp_path):
    """A wheel that is installed together with the other one."""
    path = tmp_path / "extras-2.0-py3-none-any.whl"
    record = wheel_of(path, KEPT, pip_options=("--python-version", "3.12"))
    return replace(record, project="extras", version="2.0")


def test_wheels_beside_the_archive(wheel, second, archive, folder, tmp_path):
    for name in (archive.name, second.file):  # either of them may be named
        folders = install.install(request(folder, tmp_path / name), [wheel, second])
        assert folders == [folder / "acme-1.0", folder / "extras-2.0"]
        assert install.installed_folder(folder, second) == folders[1]


def test_a_wheel_that_is_not_beside_the_archive(wheel, second, archive, folder, tmp_path):
    (tmp_path / second.file).rename(tmp_path / "moved.whl")
    with pytest.raises(ToolchainError, match=r"extras-2.0-py3-none-any.whl is needed, too") as caught:
        install.install(request(folder, archive), [wheel, second])
    assert "pip download" in (caught.value.hint or "")
    assert list(folder.iterdir()) == []
    install.install(request(folder, tmp_path / "moved.whl"), [second])
    install.install(request(folder, archive), [wheel, second])  # what is installed already needs no file
    assert install.installed_folder(folder, second)


def test_an_archive_that_is_none_of_the_wheels(wheel, second, folder, tmp_path):
    path = tmp_path / "other.whl"
    path.write_bytes(b"other")
    with pytest.raises(ToolchainError, match=r"other.whl is none of the files") as caught:
        install.install(request(folder, path), [wheel, second])
    assert second.sha256 in (caught.value.expected or "")
    with pytest.raises(ToolchainError, match="cannot be read"):
        install.install(request(folder, tmp_path / "none"), [wheel, second])


def test_the_first_wheel_stays_where_the_second_fails(pip, wheel, second, folder):
    calls = pip()  # it brings the first wheel whatever it is asked for
    with pytest.raises(ToolchainError, match="pip cannot download extras"):
        install.install(request(folder), [wheel, second])
    assert calls() == 2
    assert install.installed_folder(folder, wheel)
    assert install.installed_folder(folder, second) is None
