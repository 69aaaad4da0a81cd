"""clang as a checker of MSL on machines without Metal, with the stand-in for Apple's header (stand_in/metal_stdlib).

A program is read twice, by clang's rules for C++ and by those for C++ for OpenCL; each finds what the other lets pass.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tile_metal import header

STAND_IN = Path(__file__).parent / "stand_in"
VERSIONS = (300, 310, 320, 400)
_ERRORS = ("double-promotion", "return-type", "uninitialized", "c++17-extensions", "c++20-extensions")
# `local` and `global` are words of OpenCL alone
_OPENCL = (
    "-cl-std=clc++2021",
    "-Dlocal=local_",
    "-Dglobal=global_",
    "-target",
    "spir64",
    "-Wno-unused-command-line-argument",
)
_HEAD = re.compile(r"^(\[\[kernel[^\n]*)\) \{$", re.MULTILINE)
_ARRAY = re.compile(r"^  (?:alignas\(16\) )?threadgroup ([\w:]+) (\w+)((?:\[\d+\])?);.*\n", re.MULTILINE)
_OPERANDS = re.compile(r"incompatible operand types \('([^']*)' and '([^']*)'\)")
_OTHER_SPACES = re.compile(r" *explicit operator \w+\(\) const (?:threadgroup|device|constant) \{.*\n")


def clang() -> str:
    """The newest clang of this machine, which is at least version 15; the test is skipped without one."""
    names = ["clang++", *(f"clang++-{version}" for version in range(25, 14, -1))]
    path = next((path for name in reversed(names) if (path := shutil.which(name))), None)
    path = next((path for name in names[1:] if (path := shutil.which(name))), path)
    if path is None:
        pytest.skip("there is no clang, which checks Metal Shading Language: install clang-19")
    return path


def errors_as_cpp(program: str, version: int) -> list[str]:
    """The errors of clang for a whole program in the version of MSL. Structures in device memory are beyond this check:
    clang's C++ copies them in the default address space alone."""
    program = _as_cpp(program)
    standard = "-std=c++17" if version >= 400 else "-std=c++14"
    return _errors(program, version, ["-x", "c++", standard, *(f"-Werror={name}" for name in _ERRORS)])


def _as_cpp(program: str) -> str:
    """A structure has functions for objects in the default space alone."""
    return _OTHER_SPACES.sub(r"\\\n", _translated(program))


def errors_as_opencl(program: str, version: int) -> list[str]:
    """The errors of clang for a whole program, read as C++ for OpenCL. What is in constant memory is read from the
    thread's own, as this language has no copy of a structure from there; an object without a name is in no space."""
    program = re.sub(r"\bconstant (bfloat|tc_fp\w+)&", r"const thread \1&", _translated(program))
    program = re.sub(r"const thread \{", "const {", program)
    errors = _errors(program, version, ["-x", "clcpp", *_OPENCL])
    return [error for error in errors if not _is_of_one_type(error)]


def _is_of_one_type(error: str) -> bool:
    """Is it about two values that are one type in Metal: bfloats, which are structures here alone, in two spaces, or a
    structure in the thread's memory and one without a name?"""
    operands = _OPERANDS.search(error)
    if operands is None:
        return False
    first, second = (re.sub(r"\bconst ", "", side) for side in operands.groups())
    bare = [side.split()[-1] for side in (first, second)]
    spaces = {*first.split()[:-1], *second.split()[:-1]} - {"__private"}
    return bare[0] == bare[1] and (bare[0] == "bfloat" or not spaces)


def _translated(program: str) -> str:
    """Declarations of threadgroup memory in kernels become parameters, as clang has them in no function of these
    languages; a space of two words is one word, and a vector is made by a function."""
    program = re.sub(r"coherent\(device\) device\b", "coherent_device", program)
    program = re.sub(r"\b(uint2)\(", r"make_\1(", program)
    parts = re.split(r"(?=^\[\[kernel)", program, flags=re.MULTILINE)
    return "".join([parts[0], *map(_kernel, parts[1:])])


def _kernel(text: str) -> str:
    arrays = [f"threadgroup {kind}{'*' if size else '&'} {name}" for kind, name, size in _ARRAY.findall(text)]
    text = _ARRAY.sub("\n", text)
    return _HEAD.sub(lambda head: ", ".join([head[1], *arrays]) + ") {", text, count=1)


def _errors(program: str, version: int, options: Sequence[str]) -> list[str]:
    command = [clang(), *options, f"-I{STAND_IN}", f"-D__METAL_VERSION__={version}", "-D__METAL__"]
    command += ["-fsyntax-only", "-Wno-unknown-attributes", "-Wno-unknown-pragmas", "-ferror-limit=0", "-"]
    process = subprocess.run(command, input=program, capture_output=True, text=True, timeout=120)
    lines = [line for line in process.stderr.splitlines() if "error:" in line]
    assert bool(lines) == bool(process.returncode), process.stderr[:2000]
    return lines


def host_library(folder: Path, *sources: str, fast_math: bool = False) -> Path:
    """A shared library of the header's device form and ``sources``, texts of C++ that stand behind it."""
    older = [definition for definition in header.definitions() if "matmul2d.h" not in definition.part]  # it needs MSL 4
    text = ("#define TC_FAST_MATH\n" if fast_math else "") + header.joined(older)
    path, library = folder / "functions.cpp", folder / "functions.so"
    path.write_text(_as_cpp("\n".join([text, *sources])))
    options = ["-std=c++17", "-O0", "-fPIC", "-shared", "-pthread", "-D__METAL_VERSION__=320", "-DRUN_ON_HOST"]
    options += [f"-I{STAND_IN}", "-Wno-unknown-pragmas", "-Wno-unknown-attributes", "-fno-strict-aliasing"]
    lanes = os.fspath(Path(__file__).with_name("host_lanes.cpp"))
    command = [clang(), *options, os.fspath(path), lanes, "-o", os.fspath(library), "-lm"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr[:5000]
    return library
