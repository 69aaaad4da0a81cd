"""All that is known of the kernels of an artifact without a Mac: estimates of its text, counts, the model of time.

for name, kernel in analysis(artifact).items():
    print(name, kernel.time)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_metal.figures import compiled
from tile_metal.figures.estimates import Estimate, estimates
from tile_metal.figures.instructions import Mix, kernels_of, main_part
from tile_metal.figures.model import LoopTime, loop_time
from tile_metal.target import family_of, msl_of
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact


@dataclass(frozen=True)
class KernelAnalysis:
    """A kernel. has_loop: is ``loop`` that of the main loop, not of all instructions of a kernel without loops?"""

    estimate: Estimate
    threads: int
    has_loop: bool
    loop: Mix
    time: LoopTime

    def as_data(self) -> dict[str, object]:
        """As plain data for records."""
        return {
            "figures": {
                "threads": self.threads,
                "threadgroup_bytes": self.estimate.threadgroup_bytes,
                "registers_of_arrays": self.estimate.registers,
                "threads_by_registers": self.estimate.threads_by_registers(),
                "matrix_products": self.estimate.products,
            },
            "main_loop" if self.has_loop else "no_loop": self.loop.as_data(),
            "model": self.time.as_data(),
        }


def analysis(artifact: Artifact) -> dict[str, KernelAnalysis]:
    """The analysis of each kernel, by its symbol. Raises ToolchainError without clang."""
    target = Target.parse(artifact.target)
    by_text = estimates(artifact.source)
    by_clang = kernels_of(compiled.assembly(artifact.source, msl_of(target)))
    analysed = {}
    for entry in artifact.entries:
        loop, has_loop = main_part(by_clang[entry.symbol])
        x, y, z = entry.threads
        time = loop_time(family_of(target).name, loop)
        analysed[entry.symbol] = KernelAnalysis(by_text[entry.symbol], x * y * z, has_loop, loop, time)
    return analysed
