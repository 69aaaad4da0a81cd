"""Which compiler and which math library are chosen, in made-up folders; what doctor and what cache keys say."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from tile_hip import compilers, install, report, search, toolchain

from tilecore.errors import ToolchainError
from tilecore.plugins import manager

CDNA, RDNA = "gfx90a gfx942", "gfx1100 gfx1201"
PROGRAM = """#!/bin/sh
case "$*" in
*--print-supported-cpus*)
  echo "{words}clang version {version} (build {build})" >&2
  echo "Available CPUs for this target:" >&2
  for chip in {chips}; do echo "	$chip" >&2; done ;;
*fsyntax-only*) {reads_header} ;;
esac
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without compilers: empty folders in place of the system's. Returns its root."""
    for name in search.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for folder in ("opt", "lib", "site", "data", "bin"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("TILECORE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(search, "OPT", tmp_path / "opt")
    monkeypatch.setattr(search, "DEBIAN", tmp_path / "lib")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    return tmp_path


def program(path: Path, version="19.1.7", chips=f"{CDNA} {RDNA}", words="", build="1", reads_header="true", lld=True):
    """A program that answers as clang does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PROGRAM.format(version=version, chips=chips, words=words, build=build, reads_header=reads_header))
    path.chmod(0o755)
    if lld:
        shutil.copy(path, path.parent / "lld")
    return path


PLACES = {  # by origin, in the order of the search
    "TILE_HIP_CLANG": "chosen/bin/my-clang",
    "ROCM_PATH": "rocm/llvm/bin/clang++",
    "HIP_PATH": "hip/lib/llvm/bin/clang++",
    "/opt/rocm": "opt/rocm/llvm/bin/clang++",
    "/opt/rocm-10.0.1": "opt/rocm-10.0.1/llvm/bin/clang++",
    "/opt/rocm-7.2.0": "opt/rocm-7.2.0/bin/amdclang++",
    "_rocm_sdk_core": "site/_rocm_sdk_core/lib/llvm/bin/clang++",
    "hipcc": "elsewhere/rocm/llvm/bin/clang++",
    "amdclang++": "bin/amdclang++",
    "clang++-21": "bin/clang++-21",
    "clang++-19": "bin/clang++-19",
    "clang++": "bin/clang++",
    "ziglang": "site/ziglang/zig",
}


def furnished(machine, monkeypatch):
    """Puts a compiler at each of the places."""
    for place in PLACES.values():
        program(machine / place)
    for package in ("_rocm_sdk_core", "ziglang"):
        (machine / "site" / package / "__init__.py").write_text("raise ImportError('it must not be imported')")
    program(machine / "elsewhere/rocm/bin/hipcc")
    (machine / "bin/hipcc").symlink_to(machine / "elsewhere/rocm/bin/hipcc")
    monkeypatch.setenv("TILE_HIP_CLANG", str(machine / PLACES["TILE_HIP_CLANG"]))
    monkeypatch.setenv("ROCM_PATH", str(machine / "rocm"))
    monkeypatch.setenv("HIP_PATH", str(machine / "hip"))


def test_the_order(machine, monkeypatch):
    furnished(machine, monkeypatch)
    for place in PLACES.values():
        command = compilers.compiler_for("gfx942").command
        assert command[0] == str(machine / place)
        assert command[1:] == (("clang",) if place.endswith("zig") else ())
        monkeypatch.delenv("TILE_HIP_CLANG", raising=False)
        (machine / place).unlink()
    with pytest.raises(ToolchainError, match="there is no compiler for gfx942") as error:
        compilers.compiler_for("gfx942")
    assert error.value.found == "no clang on this machine"
    assert "tilecore toolchain install hip" in (error.value.hint or "")


def test_the_first_that_knows_the_chip(machine):
    program(machine / "bin/clang++-21", "21.0.0", CDNA)
    program(machine / "bin/clang++-20", "20.0.0", RDNA)
    assert compilers.compiler_for("gfx942").version == "21.0.0"
    assert compilers.compiler_for("gfx1201").version == "20.0.0"
    with pytest.raises(ToolchainError, match="there is no compiler for gfx950") as error:
        compilers.compiler_for("gfx950")
    assert error.value.found.count("does not know gfx950") == 2
    rows = [(tool.present, tool.version, tool.allows) for tool in report.find()]
    assert rows[:2] == [
        (True, "21.0.0", "compile for gfx90a, gfx942"),
        (True, "20.0.0", "compile for gfx1100, gfx1201"),
    ]
    missing = report.find()[2]
    assert not missing.present
    assert "gfx950" in missing.allows
    assert missing.where == "not known to clang 21.0.0, clang 20.0.0"
    assert missing.fix == compilers.FIX


SKIPPED = {
    "old": (
        {"version": "17.0.6", "reads_header": "echo 'k.h:1:2: error: no __builtin_x' >&2; exit 1"},
        "no __builtin_x",
    ),
    "no lld": ({"lld": False}, "apt-get install lld-19"),
    "other": ({"words": "Homebrew ", "chips": ""}, "built without AMD's GPUs"),
    "no clang": (
        {"words": "gcc, not ", "version": "x"},
        "it is no clang: it answers 'gcc, not clang version x (build 1)'",
    ),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_programs_that_are_skipped(machine, name):
    fields, reason = SKIPPED[name]
    program(machine / "bin/clang++-30", **fields)
    assert compilers.installed() == ()
    (item,) = compilers.skipped()
    assert reason in item.reason
    with pytest.raises(ToolchainError) as error:
        compilers.compiler_for("gfx942")
    assert reason in error.value.found
    row = next(tool for tool in report.find() if tool.name == "clang++-30")
    assert not row.present
    assert reason in row.where
    program(machine / "opt/rocm/llvm/bin/clang++")
    assert compilers.compiler_for("gfx942").origin.endswith("/opt/rocm")


def test_a_program_that_does_not_run(machine, monkeypatch):
    monkeypatch.setenv("TILE_HIP_CLANG", str(machine / "none"))
    with pytest.raises(ToolchainError) as error:
        compilers.compiler_for("gfx942")
    assert "it does not run: No such file or directory" in error.value.found
    assert error.value.hint == "unset TILE_HIP_CLANG, or name another compiler by it"


def test_the_first_release_that_will_do_is_asked_to_read_the_header(machine):
    program(machine / "bin/clang++-18", "18.0.0", reads_header="exit 1")  # ROCm names builds before the release so
    assert compilers.installed() == ()
    program(machine / "bin/clang++-19", "19.0.0", reads_header="exit 1")  # is not asked
    assert [compiler.version for compiler in compilers.installed()] == ["19.0.0"]


def test_variables_that_name_no_rocm(machine, monkeypatch):
    program(machine / "opt/rocm/llvm/bin/clang++")
    monkeypatch.setenv("ROCM_PATH", str(machine / "nothing"))
    rows = {tool.name: tool for tool in report.find()}
    assert rows["ROCM_PATH"].where == f"there is no clang in {machine / 'nothing'}"
    monkeypatch.setenv("ROCM_PATH", str(machine / "opt/rocm"))
    monkeypatch.setenv("HIP_PATH", str(machine / "opt/rocm"))
    assert not {"ROCM_PATH", "HIP_PATH"} & {tool.name for tool in report.find()}


LIBRARIES = [  # in the order of the search
    "chosen",
    "opt/rocm/amdgcn/bitcode",
    "opt/rocm/lib/llvm/lib/clang/22/lib/amdgcn/bitcode",
    "lib/x86_64-linux-gnu/amdgcn/bitcode",
    "lib/llvm-19/lib/clang/19/amdgcn/bitcode",
    "site/triton/backends/amd/lib",
    "site/iree/compiler/_mlir_libs/iree_platform_libs/rocm",
]


def test_the_order_of_math_libraries(machine, monkeypatch):
    for place in LIBRARIES:
        (machine / place).mkdir(parents=True)
        (machine / place / "ocml.bc").write_bytes(place.encode())
    monkeypatch.setenv("TILE_HIP_DEVICE_LIBS", str(machine / "chosen"))
    for place in LIBRARIES:
        assert search.math_library() == machine / place / "ocml.bc"
        (machine / place / "ocml.bc").unlink()
        if place == "chosen":
            assert search.math_library() is None, "no other library in place of the one that is named"
            assert "TILE_HIP_DEVICE_LIBS" in report.find()[-1].where
            monkeypatch.delenv("TILE_HIP_DEVICE_LIBS")
    assert search.math_library() is None
    (machine / "chosen/ocml.bc").write_bytes(b"file")
    monkeypatch.setenv("TILE_HIP_DEVICE_LIBS", str(machine / "chosen/ocml.bc"))
    assert search.math_library() == machine / "chosen/ocml.bc"


# before the fixture hides the installed packages
TARGETS = {arch: manager.resolve(f"hip -arch={arch}")[1] for arch in ("gfx942", "gfx1100")}


def version_for(arch: str) -> str:
    return toolchain.version(TARGETS[arch])


def test_cache_keys_name_the_chosen_compiler_and_the_library(machine, monkeypatch):
    assert version_for("gfx942").startswith("no compiler for gfx942")
    program(machine / "bin/clang++-19", "19.1.7", build="a")
    before = version_for("gfx942")
    assert "clang version 19.1.7 (build a)" in before
    program(machine / "bin/clang++-18", "18.1.0")  # another compiler, which is not chosen
    program(machine / "bin/clang++-20", "20.1.0", RDNA)  # one for other chips
    compilers._identity.cache_clear()
    assert version_for("gfx942") == before
    assert "20.1.0" in version_for("gfx1100")
    for name, text in (("one", b"1"), ("two", b"2"), ("copy", b"1")):
        (machine / name).mkdir()
        (machine / name / "ocml.bc").write_bytes(text)
    keys = []
    for name in ("one", "two", "copy"):
        monkeypatch.setenv("TILE_HIP_DEVICE_LIBS", str(machine / name))
        keys.append(version_for("gfx942"))
    assert keys[0] == keys[2] != keys[1] != before
    other = program(machine / "chosen/clang", "19.1.7", build="b")
    monkeypatch.setenv("TILE_HIP_CLANG", str(other))
    assert "(build b)" in version_for("gfx942")
    assert version_for("gfx942") == version_for("gfx942")


def test_what_tilecore_installed_is_found(machine, monkeypatch):
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    for wheel, member in ((install.ZIG["x86_64"], "ziglang/zig"), (install.LIBRARY, install._LIBRARY)):
        path = program(machine / "data/hip" / wheel.folder / member, lld=False)
        manifest = f'{{"{member}": {path.stat().st_size}}}'
        (machine / "data/hip" / wheel.folder / "installed.json").write_text(manifest)
    compiler = compilers.compiler_for("gfx942")
    assert compiler.command == (str(machine / "data/hip/ziglang-0.17.1/ziglang/zig"), "clang")
    assert compiler.origin == "tilecore toolchain install hip"
    assert search.math_library() == machine / "data/hip/iree-base-compiler-3.13.0" / install._LIBRARY
    os.truncate(compiler.command[0], 5)
    assert list(search.candidates()) == [], "a damaged installation is none"
