"""The error for a CModel process that has ended: the kernel, its launches, the line, and the last output of the
CModel."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from tile_tpu.chips import Chip
from tile_tpu.cmodel.kernel_files import KernelLibrary
from tile_tpu.cmodel.process import WorkerEnded
from tile_tpu.runtimes.records import Launch
from tile_tpu.toolchain.sdk import CModel
from tilecore.codegen.places import at
from tilecore.errors import LaunchError

_CHECK = re.compile(r"ASSERT \S*?(\w+\.c): (\w+): \d+: (.*)")  # an assertion of the CModel: file, function, condition
_ASSERTION = re.compile(r'\w+\.c:(\d+): \w+: Assertion "(.*)" failed')  # TPUKERNEL_ASSERT
_ASSERTED = re.compile(r"\[ERR\] (.*?)(?:\[\d+\])?\w+\.c:\d+: \w+: Assertion ")  # the message of the kernel's assertion
_COPY = re.compile(r"/tmp/\d+-\d+/\d+/")  # the runtime's copies of loaded kernels
_FRAME = re.compile(r"(\S+)\((\w*)\+0x([0-9a-f]+)\) ?\[0x[0-9a-f]+\]")


def not_started(chip: Chip, files: CModel, ended: WorkerEnded) -> LaunchError:
    """The error for a CModel that does not start."""
    return LaunchError(
        f"the CModel of {chip.name} does not start: {ended.reason}",
        found=ended.last_lines or str(files.device),
        hint="install it again: tilecore toolchain install tpu --force; TILECORE_DEBUG=6 shows the commands and files",
    )


def crashed(chip: Chip, kernels: KernelLibrary, launches: Sequence[Launch], ended: WorkerEnded) -> LaunchError:
    """The error for a kernel that ended the CModel's process."""
    output = "\n".join((ended.last_lines, ended.raw))
    shapes = ", ".join(f"{x.entry} on {x.items} core{'s' * (x.items != 1)}" for x in launches)
    lines = kernels.source.splitlines()
    line_number = _line(kernels, output)
    details = [f"launched {shapes}"]
    if line_number:
        details.append(at(lines, line_number))
    if ended.last_lines:
        details.append(f"the last output of the CModel:\n{ended.last_lines}")
    return LaunchError(
        f"{kernels.name} stopped the CModel of {chip.name}: {_reason(ended, output)}", found="; ".join(details),
        hint=_hint(ended),
    )  # fmt: skip


def _hint(ended: WorkerEnded) -> str | None:
    if ended.is_late:
        return "look for a loop that does not end, or set TILECORE_SIMULATE_TIMEOUT to a longer limit in seconds"
    return 'run it with execution_backend="sim", which checks more' if "SIG" in ended.reason else None


def _reason(ended: WorkerEnded, output: str) -> str:
    if (match := _ASSERTED.search(output)) and match[1].strip():
        return f"an assertion of the kernel does not hold: {match[1].strip()}"
    if match := _ASSERTION.search(output):
        return f"assertion {match[2]} does not hold"
    if match := _CHECK.search(output):
        function = _last_called(output)
        who = f"{function} refuses its arguments, " if function else ""
        return f"{who}{match[3].strip()} does not hold ({match[2]})"
    return ended.reason


def _last_called(output: str) -> str:
    """The function of the kernel interface that was called last."""
    return next((m[2] for m in _FRAME.finditer(output) if m[2].startswith("tpu_")), "")


def _line(kernels: KernelLibrary, output: str) -> int:
    """The line of the emitted source that was running, from an assertion or the kernel's innermost frame; 0 if
    unknown."""
    if match := _ASSERTION.search(output):
        return int(match[1])
    for match in _FRAME.finditer(output):
        path, symbol, offset = match.groups()
        if _COPY.match(path) or path in (str(kernels.path), str(kernels.firmware)):
            return _address_line(kernels, symbol, int(offset, 16))
    return 0


def _address_line(kernels: KernelLibrary, symbol: str, offset: int) -> int:
    """The line of the instruction that ends right before ``offset`` bytes behind a function, or behind the start of the
    library: the call that returns there, or the instruction that crashed (frames.c)."""
    start = 0
    if symbol:
        symbol_line = re.search(rf"^([0-9a-f]+) \w {symbol}$", _output_of("nm", str(kernels.path)), re.MULTILINE)
        if symbol_line is None:
            return 0
        start = int(symbol_line[1], 16)
    match = re.search(r":(\d+)", _output_of("addr2line", "-e", str(kernels.path), hex(start + offset - 1)))
    return int(match[1]) if match else 0


def _output_of(*command: str) -> str:
    """The output of a tool of binutils; "" where it is not installed."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
