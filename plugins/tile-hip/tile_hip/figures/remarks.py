"""What ``kernel.explain()`` says about a code object: its figures, what limits occupancy, and what does not fit."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tile_hip import architectures
from tile_hip.figures import code_object
from tile_hip.figures.code_object import CodeObject, KernelFigures
from tile_hip.figures.occupancy import budget, occupancy, registers_for
from tilecore.errors import LimitError

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact, Entry


def describe(binary: bytes) -> dict[str, dict[str, int]]:
    """The figures of each kernel of a code object by their names; empty where ``binary`` is none."""
    try:
        kernels = code_object.read(binary).kernels
    except ValueError:
        return {}
    return {kernel.name: _named(kernel) for kernel in kernels}


def _named(kernel: KernelFigures) -> dict[str, int]:
    figures = {name: value for name, value in asdict(kernel).items() if name != "name"}
    figures["lanes_per_wave"] = figures.pop("wave")
    figures["threads_at_most"] = figures.pop("max_threads")
    return figures


def remarks(artifact: Artifact) -> list[str]:
    """Sentences on each kernel of an artifact whose binary is a code object."""
    try:
        loaded = code_object.read(artifact.binary)
    except ValueError:
        return []
    kernels = {kernel.name: kernel for kernel in loaded.kernels}
    lines = []
    for entry in artifact.entries:
        kernel = kernels.get(entry.symbol)
        if kernel is not None:
            lines += [f"{entry.symbol}: {line}" for line in _sentences(loaded.arch, kernel, entry)]
    return lines


def _sentences(arch: str, kernel: KernelFigures, entry: Entry) -> list[str]:
    lines = [message for message in (_lds_exceeded(arch, kernel, entry), _threads_exceeded(kernel, entry)) if message]
    if not lines:
        lines.append(_occupancy(arch, kernel, entry))
    if kernel.scratch_bytes:
        lines.append(_scratch(kernel, entry))
    return lines


def _occupancy(arch: str, kernel: KernelFigures, entry: Entry) -> str:
    """ "2 waves a SIMD, 2 blocks a CU on gfx942, limited by registers: 3 waves with at most 168 registers"."""
    shares, dynamic = budget(arch, kernel.wave), dynamic_bytes(entry)
    fit = occupancy(arch, kernel, threads_of(entry), dynamic)
    waves, blocks = _counted(fit.waves, "wave"), _counted(fit.blocks, "block")
    line = f"{waves} a SIMD, {blocks} a {shares.unit} on {arch}, limited by {fit.limit}"
    if fit.limit == "registers" and fit.by_registers < shares.waves:
        more = fit.by_registers + 1
        line += f" ({kernel.vgprs}; {more} waves would fit with at most {registers_for(shares, more)})"
    elif fit.limit == "LDS":
        total = kernel.lds_bytes + dynamic
        line += f" ({total} bytes a block; {fit.blocks + 1} blocks with at most {shares.lds_bytes // (fit.blocks + 1)})"
    return line


def _counted(count: float, noun: str) -> str:
    return f"{count:g} {noun}" + ("" if count == 1 else "s")


def _scratch(kernel: KernelFigures, entry: Entry) -> str:
    cause = (
        f"the compiler spilled {kernel.spilled_vgprs} times, as a thread has {kernel.vgprs} registers in blocks of "
        f"{threads_of(entry)} threads"
        if kernel.spilled_vgprs
        else "an array of a thread is indexed by values that are not known when it is compiled"
    )
    return (
        f"slow: {kernel.scratch_bytes} bytes of a thread's data are in memory (scratch): {cause}; "
        "smaller tiles, more threads for a tile, or fewer blocks by T.annotate_min_blocks_per_sm keep them in registers"
    )


def check(artifact: Artifact) -> None:
    """Raises LimitError where a kernel of an artifact needs more LDS or threads than its chip and binary allow.

    The compiler refuses static LDS above the limit, but does not know the bytes that a launch adds. What is no code
    object is left to the runtime, which refuses it.
    """
    try:
        loaded: CodeObject = code_object.read(artifact.binary)
    except ValueError:
        return
    for kernel in loaded.kernels:
        entry = next((entry for entry in artifact.entries if entry.symbol == kernel.name), None)
        if entry is None:
            continue
        message = _lds_exceeded(loaded.arch, kernel, entry) or _threads_exceeded(kernel, entry)
        if message:
            raise LimitError(f"{entry.symbol} cannot run on {loaded.arch}: {message}")


def _lds_exceeded(arch: str, kernel: KernelFigures, entry: Entry) -> str:
    limit, dynamic = architectures.parse(arch).shared_bytes, dynamic_bytes(entry)
    total = kernel.lds_bytes + dynamic
    if total <= limit:
        return ""
    return (
        f"it needs {total} bytes of LDS ({kernel.lds_bytes} static, {dynamic} of its launch), {total - limit} more "
        f"than a block may have ({limit})"
    )


def _threads_exceeded(kernel: KernelFigures, entry: Entry) -> str:
    threads = threads_of(entry)
    if threads <= kernel.max_threads:
        return ""
    return f"it has blocks of {threads} threads, but was compiled for at most {kernel.max_threads}"


def dynamic_bytes(entry: Entry) -> int:
    """The LDS that a launch adds; 0 where it depends on the arguments."""
    return entry.shared_bytes if isinstance(entry.shared_bytes, int) else 0


def threads_of(entry: Entry) -> int:
    """The threads of a block."""
    x, y, z = entry.threads
    return x * y * z
