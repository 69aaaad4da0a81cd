"""Compiles a kernel's program with clang, so that the instructions of its loops can be counted.

Apple's compiler runs on macOS alone, and nobody reads its machine code here. clang's optimiser is the next best:
Apple's compiler is built on the same one. Metal's functions are declared only (``stand_in/``), so each call of one
stays one call. The target is NVPTX: the virtual instructions of a GPU whose simdgroups have 32 lanes, too, with
registers without limit, and addresses that are a register and a constant, as Apple's are. The passes for GPUs have then
moved what does not change out of the loops and have shared the arithmetic of addresses.

What differs from Apple's machine code is not known: how it schedules, which registers it spills, and which arithmetic
its loads and stores do by themselves (they can add a scaled register; here that is an instruction of its own).
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

from tile_metal.header import whole_program
from tilecore.errors import ToolchainError

STAND_IN = Path(__file__).parent / "stand_in"
LEAST = 18  # the first clang whose NVPTX has bfloat16
_NAMES = ("clang++-19", "clang++-20", "clang++-21", "clang++-22", "clang++-18", "clang++")
_OPTIONS = (
    *("-x", "c++", "-std=c++17", "--target=nvptx64", "-Xclang", "-target-cpu", "-Xclang", "sm_90", "-O2", "-S"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-exceptions", "-fno-strict-aliasing"),
    *("-fno-vectorize", "-fno-slp-vectorize"),  # lanes are scalar
    # loops are unrolled where they have few iterations, not by a part of them: an iteration of the source is counted
    *("-mllvm", "-unroll-runtime=false", "-mllvm", "-unroll-allow-partial=false"),
    *("-Wno-unknown-attributes", "-Wno-unknown-pragmas", "-ferror-limit=3"),
)
_HEAD = re.compile(r"^\[\[kernel[^\]]*\]\] void (?=\w+\()", re.MULTILINE)
_ARRAY = re.compile(r"^( +(?:alignas\(\d+\) )?)threadgroup (?=[\w:]+ \w+(?:\[\d+\])?;)", re.MULTILINE)
# memory that other threadgroups see: a space of its own in the header, and plain device memory here
_COHERENT = re.compile(r"^#define TC_COHERENT .*\n|\bcoherent\(device\) ", re.MULTILINE)
_METHODS = re.compile(r"^ *explicit operator float\(\) const (?:threadgroup|device|constant) .*\n", re.MULTILINE)


@functools.lru_cache(maxsize=1)
def clang() -> str:
    """The path of a clang that has the target NVPTX. Raises ToolchainError where there is none."""
    for name in _NAMES:
        path = shutil.which(name)
        if path is not None and _version(path) >= LEAST:
            targets = subprocess.run([path, "-print-targets"], capture_output=True, text=True, timeout=60)
            if "nvptx64" in targets.stdout:
                return path
    raise ToolchainError(
        "the model of time counts the instructions of a kernel that clang has compiled, and there is no such clang",
        expected=f"clang {LEAST} or newer, with the target nvptx64, as one of {', '.join(_NAMES)}",
        hint="install it, such as by: apt install clang-19; the other figures of a kernel do not need it",
    )


@functools.lru_cache(maxsize=8)
def _version(path: str) -> int:
    text = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60).stdout
    number = re.search(r"clang version (\d+)", text)
    return int(number[1]) if number and "Apple" not in text else 0


def version() -> str:
    """The compiler's name and version: counts of another one may differ."""
    return f"clang {_version(clang())}"


def assembly(source: str, msl: int, fast_math: bool = False) -> str:
    """The virtual instructions of all kernels of an emitted source.

    msl: the version as ``__METAL_VERSION__`` gives it. Raises ToolchainError without clang, or where it refuses the
    source.
    """
    program = for_clang(whole_program(source, fast_math))
    command = [clang(), *_OPTIONS, f"-D__METAL_VERSION__={msl}", f"-I{STAND_IN}", "-", "-o", "-"]
    process = subprocess.run(command, input=program, capture_output=True, text=True, timeout=300)
    if process.returncode:
        raise ToolchainError(
            "clang refuses the program with the stand-in for Metal's library, so there is no model of its time",
            found=process.stderr.strip()[:800],
        )
    return process.stdout


def for_clang(program: str) -> str:
    """The program as C++ has it: heads of kernels; arrays of threadgroup memory, which are static; functions of the
    8-bit floats for one address space, as C++ has none for several."""
    program = _ARRAY.sub(r"\1static threadgroup ", _HEAD.sub('extern "C" void ', program))
    return _COHERENT.sub("", _METHODS.sub("", program))
