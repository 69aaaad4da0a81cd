"""clang as a checker of MSL on machines without Metal, with the stand-in for Apple's header (stand_in/metal_stdlib).

A program is read twice, by clang's rules for C++ and by those for C++ for OpenCL; each finds what the other lets pass.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

STAND_IN = Path(__file__).parent / "stand_in"
VERSIONS = (300, 310, 320, 400)
_ERRORS = ("double-promotion", "return-type", "uninitialized", "c++17-extensions", "c++20-extensions")
_OPENCL = ("-cl-std=clc++2021", "-target", "spir64", "-Wno-unused-command-line-argument")
_HEAD = re.compile(r"^(\[\[kernel[^\n]*)\) \{$", re.MULTILINE)
_ARRAY = re.compile(r"^  (?:alignas\(16\) )?threadgroup ([\w:]+) (\w+)((?:\[\d+\])?);\n", re.MULTILINE)
_BYTES = re.compile(r"template <int Bytes>\nstruct alignas\(Bytes\) tc_bytes \{.*?\};\n", re.DOTALL)
_VECTOR = """template <int Bytes> struct tc_vector { typedef uchar type __attribute__((ext_vector_type(Bytes))); };
template <int Bytes> using tc_bytes = typename tc_vector<Bytes>::type;
"""


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
    program = _BYTES.sub(_VECTOR, _translated(program))
    standard = "-std=c++17" if version >= 400 else "-std=c++14"
    return _errors(program, version, ["-x", "c++", standard, *(f"-Werror={name}" for name in _ERRORS)])


def errors_as_opencl(program: str, version: int) -> list[str]:
    """The errors of clang for a whole program, read as C++ for OpenCL."""
    return _errors(_translated(program), version, ["-x", "clcpp", *_OPENCL])


def _translated(program: str) -> str:
    """Declarations of threadgroup memory in kernels become parameters, as clang has them in no function of these
    languages; what is in two words becomes one."""
    program = re.sub(r"coherent\(device\) device\b", "coherent_device", program)
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
    lines = [line for line in process.stderr.splitlines() if "error" in line]
    assert bool(lines) == bool(process.returncode), process.stderr[:2000]
    return lines
