"""Installing the wheel: it is downloaded, checked and unpacked to a temporary folder; it is complete or not
installed."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from tile_tpu.toolchain import fetch, install, wheel

from tilecore.contract.records import InstallRequest
from tilecore.errors import ToolchainError

SDK = "tpu_mlir/cross_toolchains/ppl_compile"
KEPT = {f"tpu_mlir/lib/{name}": name.encode() * 3 for name in wheel.LIBRARIES} | {
    f"{SDK}/version": b"v1.7.0\n",
    f"{SDK}/deps/chip/tpub_7_1/TPU1686/kernel/include/tpu_kernel.h": b"int x;\n",
    f"{wheel.FOLDER}.dist-info/METADATA": b"Name: tpu_mlir\n",
}
LEFT = {
    "tpu_mlir/lib/third_party/libc.so.6": b"never",
    "tpu_mlir/lib/libbackend_bm1690.so": b"big",
    f"{SDK}/bin/ppl-compile": b"big",
    f"{SDK}/deps/chip/tpub_9_0/x.h": b"another chip",
    "tpu_mlir/python/tool.py": b"code",
}


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """A small wheel that is accepted as the vendor's."""
    path = tmp_path / wheel.FILE
    write(path, KEPT | LEFT)
    accept(monkeypatch, path)
    return path


def write(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive_file:
        for name, text in members.items():
            archive_file.writestr(name, text)


def accept(monkeypatch, path):
    monkeypatch.setattr(wheel, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(wheel, "BYTES", path.stat().st_size)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "data" / "tpu"
    path.mkdir(parents=True)
    return path


def request(folder, archive="", progress=lambda *_: None):
    return InstallRequest(os.fspath(folder), os.fspath(archive), progress)


def test_from_a_file(archive, folder):
    seen = []
    where = install.install(request(folder, archive, lambda *facts: seen.append(facts)))
    assert where == os.fspath(folder / wheel.FOLDER)
    assert install.installed(os.fspath(folder)) == where
    for name, text in KEPT.items():
        assert Path(where, name).read_bytes() == text
    for name in LEFT:
        assert not Path(where, name).exists()
    assert [p.name for p in folder.iterdir()] == [wheel.FOLDER]
    assert archive.exists()
    assert {step.split()[0] for step, _, _ in seen} == {"checking", "unpacking"}
    assert all(0 <= done <= total for _, done, total in seen)
    assert seen[-1][1] == seen[-1][2]


def test_installed_means_whole(archive, folder):
    assert install.installed(os.fspath(folder)) == ""
    assert install.installed("/no/such/folder") == ""
    where = Path(install.install(request(folder, archive)))
    victim = where / "tpu_mlir/lib/libtpuv7_rt.so"
    victim.write_bytes(b"short")
    assert install.installed(os.fspath(folder)) == ""
    install.install(request(folder, archive))  # in place of the damaged one
    assert victim.read_bytes() == KEPT["tpu_mlir/lib/libtpuv7_rt.so"]
    assert install.installed(os.fspath(folder))
    (where / install.MANIFEST).write_text("[]")
    assert install.installed(os.fspath(folder)) == ""


def test_another_file_is_refused(archive, folder):
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    with pytest.raises(ToolchainError, match="is not") as caught:
        install.install(request(folder, archive))
    assert wheel.SHA256 in str(caught.value)
    assert list(folder.iterdir()) == []
    with pytest.raises(ToolchainError, match="cannot be read"):
        install.install(request(folder, folder / "none"))


@pytest.mark.parametrize("damage", ["cut", "no zip", "lacks"])
def test_an_archive_that_is_not_whole(monkeypatch, archive, folder, damage):
    if damage == "cut":
        archive.write_bytes(archive.read_bytes()[:-40])
    elif damage == "no zip":
        archive.write_bytes(b"hello")
    else:
        write(archive, {k: v for k, v in KEPT.items() if not k.endswith("libtpuv7_rt.so")})
    accept(monkeypatch, archive)
    with pytest.raises(ToolchainError, match=r"not a complete wheel|lacks libtpuv7_rt\.so"):
        install.install(request(folder, archive))
    assert list(folder.iterdir()) == []


def test_a_damaged_member_is_noticed(monkeypatch, archive, folder):
    data = bytearray(archive.read_bytes())
    at = data.index(b"PK\x03\x04") + 30 + len("tpu_mlir/lib/libtpuv7_rt.so") + 2
    data[at] ^= 0xFF
    archive.write_bytes(bytes(data))
    accept(monkeypatch, archive)
    with pytest.raises(ToolchainError, match="not a complete wheel"):
        install.install(request(folder, archive))
    assert list(folder.iterdir()) == []


def test_no_room(monkeypatch, archive, folder):
    monkeypatch.setattr(install.shutil, "disk_usage", lambda path: SimpleNamespace(free=50 << 20))
    with pytest.raises(ToolchainError, match="enough free space") as caught:
        install.install(request(folder, archive))
    assert caught.value.found == "50 MiB free"
    assert "TILECORE_DATA_DIR" in (caught.value.hint or "")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), OSError(errno.EACCES, "no"), KeyboardInterrupt()])
def test_interrupted_while_unpacking(monkeypatch, archive, folder, error):
    before = install.install(request(folder, archive))
    real, count = zipfile.ZipFile.extract, iter(range(100))

    def extract(self, *args):
        if next(count) == 5:
            raise error
        return real(self, *args)

    monkeypatch.setattr(zipfile.ZipFile, "extract", extract)
    expected = {errno.ENOSPC: "the disk is full", errno.EACCES: "cannot be written"}.get(getattr(error, "errno", 0))
    with pytest.raises(ToolchainError if expected else KeyboardInterrupt, match=expected):
        install.install(request(folder, archive))
    assert install.installed(os.fspath(folder)) == before  # the old one is still there, whole
    assert [p.name for p in folder.iterdir()] == [wheel.FOLDER]


def test_files_of_a_killed_installation_are_removed(archive, folder):
    dead = folder / ".unpacking-4194305-abc"  # above the largest process number of Linux
    alive = folder / f".unpacking-{os.getppid()}-abc"
    for left in (dead, alive):
        left.mkdir()
        (left / "part").write_text("x")
    install.install(request(folder, archive))
    assert not dead.exists()
    assert alive.exists()


PIP = """#!{python}
import os, shutil, sys
words = sys.argv[1:]
assert words[:4] == ["-m", "pip", "download", "--no-deps"], words
assert words[words.index("--python-version") + 1] == "3.10" and words[-1] == "tpu_mlir==1.30.2"
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


def test_fetched_by_pip(pip, folder):
    pip()
    seen = []
    install.install(request(folder, progress=lambda *facts: seen.append(facts)))
    assert install.installed(os.fspath(folder))
    assert [p.name for p in folder.iterdir()] == [wheel.FOLDER]  # what was fetched is gone
    assert any(step.startswith("fetching") for step, _, _ in seen)


def test_a_whole_download_is_not_fetched_again(monkeypatch, pip, folder):
    calls = pip()
    monkeypatch.setattr(install, "unpack", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        install.install(request(folder))
    monkeypatch.undo()
    accept(monkeypatch, next(folder.glob("fetched/*.whl")))
    install.install(request(folder))
    assert calls() == 1
    assert install.installed(os.fspath(folder))


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("WARNING: NewConnectionError: Temporary failure in name resolution", "does not reach its index"),
        ("ERROR: Read timed out.", "does not reach its index"),
        ("ERROR: Could not find a version that satisfies the requirement", "pip cannot download"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
    ],
)
def test_pip_fails(pip, folder, output, words):
    pip(output)
    with pytest.raises(ToolchainError, match=words) as caught:
        install.install(request(folder))
    assert "--from" in (caught.value.hint or "") or "TILECORE_DATA_DIR" in (caught.value.hint or "")
    assert install.installed(os.fspath(folder)) == ""
    assert list(folder.glob("fetched/*")) == []


def test_pip_brings_another_file(pip, folder, tmp_path):
    other = tmp_path / "other" / wheel.FILE
    other.parent.mkdir()
    other.write_bytes(b"something else")
    pip(source=other)
    with pytest.raises(ToolchainError, match="as it was published"):
        install.install(request(folder))
    assert list(folder.glob("fetched/*")) == []


def test_no_pip(monkeypatch, archive, folder):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="this Python does not have") as caught:
        fetch.fetch(folder / "fetched", lambda *_: None)
    assert "--from" in (caught.value.hint or "")


def test_the_manifest_names_every_file(archive, folder):
    where = Path(install.install(request(folder, archive)))
    sizes = json.loads((where / install.MANIFEST).read_text())
    assert sizes == {name: len(text) for name, text in KEPT.items()}
