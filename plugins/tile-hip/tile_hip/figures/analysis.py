"""All that is known of the kernels of a code object without a GPU: figures, occupancy, main loop, model of time.

for name, kernel in analysis(request, artifact.binary, artifact.entries).items():
    print(name, kernel.time)
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tile_hip import compilers, toolchain
from tile_hip.figures import assembly, code_object
from tile_hip.figures.assembly import Instruction
from tile_hip.figures.code_object import KernelFigures
from tile_hip.figures.instruction_kinds import InstructionMix, mix_of
from tile_hip.figures.loops import flow, main_loop
from tile_hip.figures.model import LoopTime, loop_time
from tile_hip.figures.occupancy import Occupancy, occupancy
from tile_hip.figures.remarks import dynamic_bytes, threads_of
from tile_hip.target import architecture_of
from tilecore.artifact.records import Entry
from tilecore.contract.records import BuildRequest
from tilecore.errors import ToolchainError


@dataclass(frozen=True)
class KernelAnalysis:
    """A kernel of a code object.

    lds_bytes: of a block, those that the launch adds included. has_loop: is ``loop`` that of the main loop, not of all
    instructions of a kernel without loops? whole: all instructions.
    """

    figures: KernelFigures
    lds_bytes: int
    occupancy: Occupancy
    has_loop: bool
    loop: InstructionMix
    whole: InstructionMix
    time: LoopTime

    def as_data(self) -> dict[str, object]:
        """As plain data for records."""
        figures = {name: value for name, value in asdict(self.figures).items() if name not in ("name", "lds_bytes")}
        return {
            "figures": figures | {"lds_bytes": self.lds_bytes, "instructions": self.whole.count},
            "occupancy": {
                "waves_per_simd": round(self.occupancy.waves, 2),
                "blocks": self.occupancy.blocks,
                "limit": self.occupancy.limit,
            },
            "main_loop" if self.has_loop else "no_loop": self.loop.as_data(),
            "model": self.time.as_data(),
        }


def analysis(request: BuildRequest, binary: bytes, entries: Iterable[Entry]) -> dict[str, KernelAnalysis]:
    """The analysis of each kernel of a code object, by its symbol.

    request: that of the build, for chips that no installed llvm-objdump disassembles: their kernels are compiled once
    more, to assembly. entries: the kernels' launches. Raises ToolchainError without both tools, and ValueError for a
    ``binary`` that is no code object.
    """
    loaded = code_object.read(binary)
    instructions = instructions_of(request, binary)
    kernels = {kernel.name: kernel for kernel in loaded.kernels}
    return {
        entry.symbol: _analysed(loaded.arch, kernels[entry.symbol], entry, instructions[entry.symbol])
        for entry in entries
    }


def _analysed(arch: str, kernel: KernelFigures, entry: Entry, instructions: list[Instruction]) -> KernelAnalysis:
    lds = dynamic_bytes(entry)
    fit = occupancy(arch, kernel, threads_of(entry), lds)
    in_buffers = arch == "gfx90a" and kernel.scratch_bytes > 0
    graph = flow(instructions)
    loop = main_loop(graph)
    mix = mix_of(instructions if loop is None else graph.of(loop.blocks), in_buffers)
    time = loop_time(arch, kernel.wave, mix, fit.waves)
    whole = mix_of(instructions, in_buffers)
    return KernelAnalysis(kernel, kernel.lds_bytes + lds, fit, loop is not None, mix, whole, time)


def instructions_of(request: BuildRequest, binary: bytes) -> dict[str, list[Instruction]]:
    """The instructions of each kernel: of the code object, or of clang's assembly where nothing disassembles it."""
    arch = architecture_of(request.target).name
    try:
        return assembly.disassembled(binary, arch)
    except ToolchainError:
        return assembly.kernels_of_assembly(assembly_text(request))


def assembly_text(request: BuildRequest) -> str:
    """Clang's assembly for a request. Raises ToolchainError where clang refuses it."""
    compiler = compilers.compiler_for(architecture_of(request.target).name)
    words = toolchain.commands(compiler, request)[0]
    words = [word for word in words if word not in ("-fgpu-rdc", "-emit-llvm", "-c", "--no-gpu-bundle-output")]
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
        Path(folder, "kernel.hip").write_text(request.source)
        command = [*words[: words.index("kernel.hip")], "-S", "kernel.hip", "-o", "kernel.s"]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
        if process.returncode:
            raise ToolchainError(f"clang makes no assembly of {request.name}", found=process.stderr.strip()[:400])
        return Path(folder, "kernel.s").read_text()
