"""What the tests of instructions share: the assembly that clang makes of a source, by kernel."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tile_hip import compilers, toolchain

from tilecore.contract.records import BuildRequest
from tilecore.plugins import manager

_LEFT_OUT = {"-fgpu-rdc", "-emit-llvm", "-c", "--no-gpu-bundle-output"}


def assembly(source: str, arch: str, folder: Path, wave: int = 0) -> str:
    """The text, by the options with which the toolchain compiles kernels."""
    _, target = manager.resolve(f"hip -arch={arch}" + (f" -wave={wave}" if wave else ""))
    request = BuildRequest("kernels", source, (), target, adapter="hip")
    (folder / "kernel.hip").write_text(source)
    command = [word for word in toolchain.commands(compilers.compiler_for(arch), request)[0] if word not in _LEFT_OUT]
    command[command.index("-o") + 1] = "kernel.s"
    process = subprocess.run([*command, "-S"], capture_output=True, text=True, cwd=folder)
    assert process.returncode == 0, process.stderr[:3000]
    return (folder / "kernel.s").read_text()


def kernels(text: str) -> dict[str, list[str]]:
    """The instructions of each kernel, without comments."""
    bodies: dict[str, list[str]] = {}
    for name, body in re.findall(r"^(\w+):\s*; @\1\n(.*?)s_endpgm", text, re.MULTILINE | re.DOTALL):
        lines = (line.partition(";")[0].strip() for line in body.splitlines())
        bodies[name] = [line for line in lines if re.match(r"[a-z]\w*(\s|$)", line)]
    return bodies


def static_bytes(text: str) -> list[int]:
    """The static LDS of each kernel, in bytes."""
    return [int(number) for number in re.findall(r"\.group_segment_fixed_size: (\d+)", text)]
