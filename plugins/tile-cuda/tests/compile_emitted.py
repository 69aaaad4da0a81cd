"""Compiles a folder of emitted kernels for several architectures, many in a translation unit; a table of the results.

    python compile_emitted.py FOLDER [--arch sm_80,sm_89,sm_90a,sm_100a] [--batch 40] [--jobs 2]

Kernels get names of their own and a namespace each. A batch that is refused is compiled again file by file, so that
errors name the file. Printed besides: kernels that keep a stack in local memory or spill registers to it.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tile_cuda import architectures, nvcc, toolchain

ARCHITECTURES = ("sm_80", "sm_89", "sm_90a", "sm_100a")
_KERNEL = re.compile(r'extern "C" __global__ void (?:__\w+__\([^)]*\) )*(\w+)\(')
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")


@dataclass(frozen=True)
class Emitted:
    """A source. least: the compute capability for which it was emitted."""

    name: str
    text: str
    least: int

    @staticmethod
    def read(path: Path) -> Emitted:
        """A file whose first line is a comment with its target."""
        text = path.read_text()
        arch = re.search(r"arch=(\w+)", text.partition("\n")[0])
        return Emitted(path.name, text, architectures.parse(arch[1]).capability if arch else 0)

    def symbols(self) -> list[str]:
        return _KERNEL.findall(self.text)

    def is_alone(self) -> bool:
        """Text of the user's own that includes headers stands in no namespace."""
        return self.text.count("#include") > 1

    def numbered(self, number: int) -> str:
        """The kernels, in a namespace and with names of their own: the header is left to the unit."""
        text = re.sub(r"^#include .*$", "", self.text, flags=re.MULTILINE)
        for symbol in self.symbols():
            text = re.sub(rf"\b{symbol}\b", f"{symbol}__{number}", text)
        return f"namespace unit_{number} {{\n{text}\n}}\n"


@dataclass
class Usage:
    """The registers and local memory that a kernel uses."""

    file: str
    kernel: str
    arch: str
    registers: int = 0
    stack: int = 0
    spills: int = 0


@dataclass
class Report:
    """refused: (file, architecture, the compiler's words)."""

    compiled: int = 0
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    def in_local_memory(self) -> list[Usage]:
        return [k for k in self.usages if k.stack or k.spills]


def compile_all(sources: Iterable[Emitted], arches: Sequence[str], batch: int = 40, jobs: int = 2) -> Report:
    """Compiles each source for its own and all newer architectures. Raises ToolchainError without nvcc."""
    tool, report = nvcc.load(), Report()
    work = []
    for name in arches:
        arch = architectures.parse(name)
        if arch.capability not in tool.architectures():
            print(f"{name}: not known to nvcc {tool.version}, left out")
            continue
        fitting = [s for s in sources if s.least <= arch.capability]
        together = [s for s in fitting if not s.is_alone()]
        work += [(name, together[i : i + batch]) for i in range(0, len(together), batch)]
        work += [(name, [s]) for s in fitting if s.is_alone()]
    with ThreadPoolExecutor(jobs) as pool:
        for part in pool.map(lambda item: _compile(tool, *item), work):
            report.compiled += part.compiled
            report.refused += part.refused
            report.usages += part.usages
    return report


def _compile(tool: nvcc.Nvcc, name: str, sources: Sequence[Emitted]) -> Report:
    arch, report = architectures.parse(name), Report()
    if len(sources) == 1 and sources[0].is_alone():
        text = sources[0].text
    else:
        text = '#include "tilecore_cuda.h"\n' + "".join(s.numbered(i) for i, s in enumerate(sources))
    options = [f"-gencode=arch={arch.virtual},code={arch.name}", "-std=c++17", "-Xptxas=-v", "-w"]
    binary, messages = tool.compile(text, toolchain.INCLUDE, options, "emitted")
    if binary is not None:
        report.compiled = len(sources)
        report.usages = _usages_of(messages, name, sources)
    elif len(sources) == 1:
        words = [line for line in messages.splitlines() if "error" in line.lower()] or messages.splitlines()
        report.refused = [(sources[0].name, name, "\n".join(words[:5]))]
    else:
        for source in sources:
            part = _compile(tool, name, [source])
            report.compiled += part.compiled
            report.refused += part.refused
            report.usages += part.usages
    return report


def _usages_of(messages: str, arch: str, sources: Sequence[Emitted]) -> list[Usage]:
    kernels: list[Usage] = []
    for line in messages.splitlines():
        if entry := _ENTRY.search(line):
            kernel, _, number = entry[1].rpartition("__")
            file = sources[int(number) if number.isdigit() and kernel else 0].name
            kernels.append(Usage(file, kernel or entry[1], arch))
        elif kernels and (match := _STACK.search(line)):
            kernels[-1].stack, kernels[-1].spills = int(match[1]), int(match[2]) + int(match[3])
        elif kernels and (match := _USED.search(line)):
            kernels[-1].registers = int(match[1])
    return kernels


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default=",".join(ARCHITECTURES))
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args(words)
    sources = [Emitted.read(path) for path in sorted(arguments.folder.glob("*.cu"))]
    start = time.monotonic()
    report = compile_all(sources, arguments.arch.split(","), arguments.batch, arguments.jobs)
    for file, arch, messages in report.refused:
        print(f"REFUSED {file} for {arch}:\n  {messages}")
    for k in sorted(report.in_local_memory(), key=lambda k: (-k.spills, -k.stack))[:60]:
        print(f"{k.arch:8} {k.registers:4} registers {k.stack:6} stack {k.spills:6} spilled  {k.kernel}  {k.file}")
    seconds = time.monotonic() - start
    print(
        f"{len(sources)} sources; {report.compiled} compiled, {len(report.refused)} refused, "
        f"{len(report.in_local_memory())} kernels in local memory; {seconds:.0f} s"
    )
    return 1 if report.refused or not report.compiled else 0


if __name__ == "__main__":
    sys.exit(main())
