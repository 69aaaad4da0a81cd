"""The execution backend ``sim``: runs the emitted source on the host, with simdgroups of 32 threads."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tile_metal import families
from tile_metal.simulated_text import host_source
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import SIMULATED, KernelAdapter, LoadedKernel
from tilecore.installation import compiler_is_installed

NAME = SIMULATED
FORMAT = "simulation"  # the format of its binaries, which are empty: it compiles the source when it loads the artifact
INCLUDE = Path(__file__).parent / "include"


def simulated_adapter() -> KernelAdapter | None:
    """The execution backend that runs kernels on the simulated device; None without tilecore's compiler, which has the
    device."""
    if not compiler_is_installed():
        return None
    from tilecore.simulate.adapter import SimulatedAdapter
    from tilecore.simulate.device import SimulatedDevice

    class MetalSimulatedAdapter(SimulatedAdapter):
        """Loads a kernel as C++ of the host."""

        def load(self, artifact: Artifact) -> LoadedKernel:
            return super().load(dataclasses.replace(artifact, source=host_source(artifact.source)))

    # the language lets threads write one value to one element, as all threads of a row do after a reduction
    device = SimulatedDevice(
        warp=families.SIMD,
        shared_limit=families.SHARED_BYTES,
        max_threads=families.MAX_THREADS,
        allow_same_value=True,
    )
    return MetalSimulatedAdapter([INCLUDE], (), device, NAME)
