"""Binary archives on the stand-in for Metal: a second process compiles nothing; what goes wrong costs time alone."""

from __future__ import annotations

import dataclasses
import os
from hashlib import sha256
from pathlib import Path

import pytest
from fake_metal import forget, put_in_place
from metal_kernels import artifact
from tile_metal.runtime import archive
from tile_metal.runtime.device import default_device
from tile_metal.runtime.metal_adapter import MetalAdapter

from tilecore import cache

OBJECTS = (
    "Archive", "MTLBinaryArchiveDescriptor", "MTLComputePipelineDescriptor", "NSURL", "NSArray", "NSString", "NSError",
    "Library", "Pipeline", "Function",
)  # fmt: skip


class Mac:
    """A Mac whose processes share a cache. root: of the cache."""

    def __init__(self, fake, patch, root):
        self.fake, self.patch, self.root = fake, patch, root

    def start(self, build="24D70", gpu="Apple M3 Max"):
        """A process that has not compiled anything."""
        forget()
        put_in_place(self.fake, self.patch, build)
        self.fake.library.fake_gpu(gpu.encode())

    def process(self, name="scale_kernel", changes=None, fails="", **system):
        """Loads a kernel in a process of its own; (compiled pipelines, pipelines from an archive)."""
        self.start(**system)
        return self.load(name, changes, fails)

    def load(self, name="scale_kernel", changes=None, fails=""):
        compiled = dataclasses.replace(artifact(name), **(changes or {}))
        self.fake.fail(fails, "Metal's words")
        MetalAdapter().load(compiled)
        assert not self.fake.wrong()
        objects = {name: self.fake.library.fake_live(name.encode()) for name in OBJECTS}
        assert objects == dict.fromkeys(OBJECTS, 0)
        return self.fake.count("compiled"), self.fake.count("from an archive")

    def files(self):
        return sorted(Path(self.root, "v1", "binaries").glob("*/*"))


@pytest.fixture
def mac(fake_metal, monkeypatch, tmp_path):
    for name in ("scale_kernel", "talking_kernel"):
        artifact(name)
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    return Mac(fake_metal, monkeypatch, tmp_path)


def test_a_second_process_compiles_nothing(mac, capfd, monkeypatch):
    monkeypatch.setenv("TILECORE_DEBUG", "1")
    assert mac.process() == (1, 1), "the code is compiled into the archive, of which the pipeline takes it"
    assert "bytes kept for other processes" in capfd.readouterr().err
    (file,) = mac.files()
    assert mac.process() == (0, 1)
    assert f"pipelines from {file}: " in capfd.readouterr().err
    assert mac.load() == (0, 2), "the process has forgotten the library with the kernel"
    assert mac.files() == [file]
    assert mac.process("talking_kernel") == (1, 1)
    assert mac.process("talking_kernel") == (0, 1)
    stats = cache.stats()
    assert stats.binaries == 2
    assert stats.bytes == 2 * 4096
    assert cache.verify().binaries == 2
    assert cache.clear().binaries == 2
    assert mac.process() == (1, 1)


def test_another_program_or_system_has_another_archive(mac):
    mac.process()
    text = artifact("scale_kernel").binary
    assert mac.process(changes={"binary": text + b"\n"}) == (1, 1)
    assert mac.process(changes={"target": "metal -family=apple9 -msl=3.1"}) == (1, 1)
    assert mac.process(changes={"versions": {"tile-metal": "9.9"}}) == (1, 1)
    assert mac.process(build="25A354") == (1, 1)
    assert mac.process(gpu="Apple M4") == (1, 1)
    assert len(mac.files()) == 6


def test_no_archive(mac, monkeypatch):
    assert mac.process(build="") == (1, 0)
    monkeypatch.setenv("MTL_SHADER_VALIDATION", "1")
    assert mac.process() == (1, 0)
    monkeypatch.setenv("MTL_SHADER_VALIDATION", "0")
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    assert mac.process() == (1, 0)
    monkeypatch.delenv("TILECORE_DISABLE_CACHE")
    cache.disable_cache()
    assert mac.process() == (1, 0)
    cache.enable_cache()
    assert mac.files() == []


REFUSALS = {"new archive": (1, 0), "add": (1, 0), "described pipeline": (2, 0), "serialize": (1, 1)}


@pytest.mark.parametrize(("step", "counts"), REFUSALS.items())
def test_metal_refuses_a_new_archive(mac, capfd, monkeypatch, step, counts):
    monkeypatch.setenv("TILECORE_DEBUG", "1")
    assert mac.process(fails=step) == counts
    assert "without a binary archive: Metal's words" in capfd.readouterr().err
    assert mac.files() == []
    assert mac.process() == (1, 1)


def test_files_that_metal_or_the_cache_refuses(mac, monkeypatch, recwarn):
    """They are set aside, and another is written."""
    mac.process()
    (file,) = mac.files()
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])
    assert mac.process() == (1, 1), "damaged: Metal does not see it"
    assert [file.read_bytes() for file in mac.files()] == [whole]
    foreign = whole.replace(b"M3 Max", b"M4")
    (file,) = mac.files()
    file.unlink()
    file.with_name(f"{file.name.partition('-')[0]}-{sha256(foreign).hexdigest()}").write_bytes(foreign)
    assert mac.process() == (1, 1), "Metal does not open it"
    assert mac.fake.count("opened") == 0
    assert [file.read_bytes() for file in mac.files()] == [whole]
    assert cache.stats().quarantined == 2
    assert mac.process(fails="described pipeline") == (1, 0)
    assert mac.files() == [], "no pipeline comes of it"
    assert mac.process() == (1, 1)
    empty = b"archive of Apple M3 Max\n"
    (file,) = mac.files()
    file.unlink()
    file.with_name(f"{file.name.partition('-')[0]}-{sha256(empty).hexdigest()}").write_bytes(empty)
    assert mac.process() == (1, 0), "Metal compiles what an outdated archive lacks"
    (mac.root / "v1" / "binaries").rename(mac.root / "gone")
    (mac.root / "v1" / "binaries").write_text("no folder")
    assert mac.process() == (1, 1)
    monkeypatch.setenv("TILECORE_CACHE_DIR", os.devnull)
    cache.disk_cache().get("0" * 64)  # as any compilation does: it warns of the folder
    recwarn.clear()
    assert mac.process() == (1, 1)
    assert not recwarn.list


def test_processes_at_once(mac):
    """Both find no file and write one; the second takes the place of the first, which is whole until then."""
    mac.start()
    device, compiled = default_device(), artifact("scale_kernel")
    symbols = [entry.symbol for entry in compiled.entries]
    first, second = (archive.archive_of(device, compiled.binary, "3.2", "1") for _ in range(2))
    libraries = [device._compiled(compiled.binary, "3.2") for _ in range(2)]
    keep_first = first.keep

    def keep_after_second():
        libraries[1].pipelines(symbols, second)
        assert len(mac.files()) == 1
        keep_first()

    first.keep = keep_after_second
    libraries[0].pipelines(symbols, first)
    assert mac.fake.count("compiled") == 2
    assert len(mac.files()) == 1
    assert cache.verify().damaged == ()
    assert list(Path(mac.root, "v1", "staging").iterdir()) == []
    assert not mac.fake.wrong()
