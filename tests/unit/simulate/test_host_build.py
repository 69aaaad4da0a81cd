"""The host's compiler, what it builds, and where that is kept."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from device_kit import DIALECT, compiled, filled, line_of, needs_compiler, run
from fresh_processes import imported_by

from tilecore import cache
from tilecore.cache import CacheWarning
from tilecore.errors import ToolchainError
from tilecore.simulate import build, compilers, elf_sections
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.compilers import HostCompiler, find_compiler
from tilecore.simulate.device import SimulatedDevice
from tilecore.simulate.errors import SimulationError
from tilecore.simulate.library import compile_kernels
from tilecore.simulate.line_table import LineTable

SOURCE = """
KERNEL f(const float* A, float* B) {
  const int i = thread_x;
  const float a = A[i];

  tc_barrier();
  B[i] = a;
}
"""
TEXT = '#include "neutral.h"\n' + SOURCE.strip("\n") + "\n"


def test_no_compiler_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(compilers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="needs a C\\+\\+ compiler") as info:
        find_compiler()
    assert "pip install ziglang" in str(info.value)
    assert "clang++" in str(info.value)


def test_a_compiler_that_does_not_run_is_passed_over(monkeypatch, tmp_path):
    broken, good = tmp_path / "c++", tmp_path / "g++"
    broken.write_text("#!/bin/sh\nexit 1\n")
    good.write_text("#!/bin/sh\necho 'fine 1.0'\n")
    for path in (broken, good):
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("CXX", "")
    compiler = find_compiler()
    assert compiler == HostCompiler((str(good),), "gcc", "fine 1.0")


def test_the_variable_comes_first(monkeypatch):
    monkeypatch.setenv("CXX", "ccache g++")
    assert compilers.candidates()[0] == ("ccache", "g++")


@needs_compiler
def test_a_refused_source_shows_the_compilers_words():
    with pytest.raises(ToolchainError, match=r"kernel.cpp:3:.*not_there"):
        compiled("KERNEL f() {\n  not_there();\n}\n")


@needs_compiler
def test_libraries_are_kept_by_content(monkeypatch, tmp_path):
    folder = build.library_folder()
    first = compiled(SOURCE).path
    assert first.parent == folder
    changed = first.stat().st_mtime_ns
    assert compiled(SOURCE).path == first
    assert first.stat().st_mtime_ns == changed
    assert compiled(SOURCE.replace("= a;", "= a + a;")).path != first
    assert SimulatedDevice().compile(TEXT, ["f"], [DIALECT], ["-DOTHER"]).path != first
    header = tmp_path / "neutral.h"
    header.write_text((DIALECT / "neutral.h").read_text())
    again = SimulatedDevice().compile(TEXT, ["f"], [tmp_path])
    assert again.path == first  # headers count by what is in them
    header.write_text(header.read_text() + "// more\n")
    assert SimulatedDevice().compile(TEXT, ["f"], [tmp_path]).path != first


@needs_compiler
def test_another_folder_of_the_cache(monkeypatch, tmp_path):
    """Kernels that are built after it has changed run on the runtime that the process has."""
    for number, folder in enumerate(("one", "two")):
        monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / folder))
        a, b = filled(64), np.zeros(64, np.float32)
        run(SOURCE + f"// {number}\n", 64, ("A", a, "r"), ("B", b, "w"))
        np.testing.assert_array_equal(a, b)


def test_what_takes_long_is_taken_over_from_the_usual_cache(monkeypatch, tmp_path):
    monkeypatch.setattr("tilecore.settings.default_cache_dir", lambda: str(tmp_path / "usual"))
    built = []

    def make(folder):
        built.append(folder)
        Path(folder, "lib.so").write_text(f"number {len(built)}")

    def text_from(cache, **options):
        monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / cache))
        return build.stored_library("lib.so", make, **options).read_text().partition("\n")[0]

    assert text_from("one", slow=True) == "number 1"  # the usual cache is not there
    assert text_from("usual", slow=True) == "number 2"
    assert text_from("two", slow=True) == "number 2"
    assert text_from("three") == "number 3", "a kernel is looked for in its own cache only"
    assert text_from("one", slow=True) == "number 1", "what is there stays"
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    build._temporary_folder.cache_clear()
    assert text_from("two", slow=True) == "number 2"
    build._temporary_folder.cache_clear()
    assert text_from("one", slow=True) == "number 1", "the cache that is turned off, and has one"
    monkeypatch.delenv("TILECORE_DISABLE_CACHE")
    (tmp_path / "usual" / build.FOLDER).chmod(0o777)
    assert text_from("four", slow=True) == "number 4", "others can write there"


DAMAGES = {
    "half": lambda data: data[: len(data) // 2],
    "nothing": lambda data: b"",
    "without its seal": lambda data: data[: -len(b"\ntilecore-library 1 ") - 65],
    "another byte": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "another text": lambda data: b"hello" * 100,
    "zeros": lambda data: data[:9] + bytes(9) + data[18:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_library_is_built_again(monkeypatch, tmp_path, damage):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    built = []

    def make(folder):
        built.append(folder)
        Path(folder, "lib.so").write_bytes(b"the bytes of a library" * 9)

    path = build.stored_library("lib.so", make)
    whole = path.read_bytes()
    assert whole.startswith(b"the bytes of a library" * 9)
    assert build.stored_library("lib.so", make) == path
    assert len(built) == 1
    assert cache.verify().libraries == 1
    path.write_bytes(DAMAGES[damage](whole))
    with pytest.warns(CacheWarning, match="damaged"):
        assert build.stored_library("lib.so", make).read_bytes() == whole
    assert len(built) == 2
    path.write_bytes(DAMAGES[damage](whole))
    assert cache.verify().damaged == (str(path),)
    assert not path.exists()
    build.stored_library("lib.so", make)
    Path(tmp_path, "simulate", "building-left-behind").mkdir()
    assert cache.stats().libraries == 1
    assert cache.stats().bytes >= len(whole)
    assert cache.clear().libraries == 1
    assert os.listdir(tmp_path / "simulate") == []


def test_a_library_by_another_name_is_not_taken(monkeypatch, tmp_path):
    """The name says what a library was made of: the file of another one does not pass for it."""
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    other = build.stored_library("other.so", lambda folder: Path(folder, "other.so").write_text("other"))
    other.rename(other.with_name("lib.so"))
    with pytest.warns(CacheWarning, match="damaged"):
        path = build.stored_library("lib.so", lambda folder: Path(folder, "lib.so").write_text("own"))
    assert path.read_text().startswith("own")


@pytest.mark.parametrize("plant", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_library_is_set_aside(monkeypatch, tmp_path, plant):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    plant(build.library_folder() / "lib.so")
    with pytest.warns(CacheWarning):
        path = build.stored_library("lib.so", lambda folder: Path(folder, "lib.so").write_text("own"))
    assert path.read_text().startswith("own")


def test_a_damaged_library_of_the_usual_cache_is_not_taken_over(monkeypatch, tmp_path):
    monkeypatch.setattr("tilecore.settings.default_cache_dir", lambda: str(tmp_path / "usual"))

    def library_of(folder, text):
        monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / folder))
        return build.stored_library("lib.so", lambda place: Path(place, "lib.so").write_text(text), slow=True)

    usual = library_of("usual", "usual")
    assert library_of("one", "own").read_text().startswith("usual")
    usual.write_bytes(usual.read_bytes()[:-3])
    assert library_of("two", "own").read_text().startswith("own")


def test_the_folder_is_ones_own(monkeypatch, tmp_path):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "cache"))
    folder = build.library_folder()
    assert folder == tmp_path / "cache" / "simulate"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o777)
    assert build.library_folder() != folder
    folder.chmod(0o700)
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    assert build.library_folder() != folder
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("TILECORE_DISABLE_CACHE")
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path / "file"))
    assert os.access(build.library_folder(), os.W_OK)


@needs_compiler
def test_lines_of_machine_code():
    library = compiled(SOURCE)
    table = LineTable.of(library.path)
    names = {row[1] for row in table._rows}
    assert {"kernel.cpp", "entry.h"} <= names
    lines = {row[2] for row in table._rows if row[1] == "kernel.cpp"}
    assert {line_of(SOURCE, "A[i]"), line_of(SOURCE, "B[i]")} <= lines
    assert line_of(SOURCE, "tc_barrier") - 1 not in lines  # an empty line
    assert table.line_at(1 << 40, "kernel.cpp") is None


def test_no_line_table_is_no_error(tmp_path):
    other = tmp_path / "no.so"
    other.write_bytes(b"not a library")
    assert LineTable.of(other).line_at(5, "kernel.cpp") is None
    assert elf_sections.sections(b"", {"x"}) == {}


@needs_compiler
@pytest.mark.parametrize("version", [3, 4, 5])
def test_older_tables(version):
    library = SimulatedDevice().compile(TEXT, ["f"], [DIALECT], [f"-gdwarf-{version}"])
    with pytest.raises(SimulationError) as info:
        run(library, 32, ("A", filled(31), "r"), ("B", filled(32), "w"))
    assert info.value.line == line_of(SOURCE, "A[i]")


@needs_compiler
def test_the_portable_context_switch():
    library = compile_kernels(TEXT, ["f"], [DIALECT], definitions=["TC_SIM_UCONTEXT=1"])
    a, b = filled(256), np.zeros(256, np.float32)
    device = SimulatedDevice()
    device.run(library, "f", (1,), (256,), [Tensor.of("A", a, "r"), Tensor.of("B", b, "w")])
    np.testing.assert_array_equal(a, b)


def zig() -> HostCompiler | None:
    command = (sys.executable, "-m", "ziglang", "c++")
    return compilers._probe(command)


def test_ziglang():
    compiler = zig()
    if compiler is None:
        pytest.skip("the package ziglang is not installed")
    library = compiled(SOURCE, compiler=compiler)
    a, b = filled(64), np.zeros(64, np.float32)
    run(library, 64, ("A", a, "r"), ("B", b, "w"))
    np.testing.assert_array_equal(a, b)
    with pytest.raises(SimulationError) as info:
        run(library, 64, ("A", a[:63], "r"), ("B", b, "w"))
    assert info.value.line == line_of(SOURCE, "A[i]")


def test_importing_is_light():
    assert imported_by("import tilecore.simulate, tilecore.simulate.adapter") == []


def test_sources_are_shipped():
    runtime = Path(build.RUNTIME)
    suffixes = {path.suffix for path in runtime.rglob("*") if path.is_file()}
    assert suffixes == {".h"}  # which pyproject.toml ships
    assert (runtime / "include" / "tilecore_sim.h").exists()
