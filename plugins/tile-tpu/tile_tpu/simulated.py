"""The execution backend ``sim``: the emitted C on tile-tpu's own simulator, with tensors of the host."""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import chip_of
from tile_tpu.launch import Call, slots_of
from tilecore import settings
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import SIMULATED, KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import ToolchainError
from tilecore.target import Target
from tilecore.tensors.dlpack import HOST


class SimulatorAdapter(KernelAdapter):
    """Runs on every host with a C compiler. The artifact has no binary: the source is compiled when it is loaded."""

    name = SIMULATED
    device = HOST
    simulates = True

    def available(self, target: Target) -> Presence:
        from tilecore.simulate.compilers import find_compiler

        try:
            compiler = find_compiler()
        except ToolchainError as error:
            return Presence(False, f"{error.message}; {error.found}; {error.hint}")
        return Presence(True, f"{chip_of(target).name} simulated on the host, compiled by {compiler.version}")

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Compiles the source for the host, or takes the library from the cache on disk."""
        from tile_tpu.include import FOLDER
        from tile_tpu.simulate.build import compile_kernel

        chip = chip_of(Target.parse(artifact.target))
        flags = [f"-D{name}" for name in chip.defines]
        library = compile_kernel(artifact.source, flags=flags, include=[FOLDER])
        launch = SimulatedLaunch(artifact, library, chip.name)
        return LoadedKernel(launch, owner=launch)

    def largest_run(self) -> int | None:
        return 1 << 22


class SimulatedLaunch:
    """``launch(slots_address, grids_address, stream)``. reports: the reports of the last call, one for each kernel."""

    def __init__(self, artifact: Artifact, library: Any, chip: str) -> None:
        self.artifact = artifact
        self.library = library
        self.chip = chip
        self.reports: list[Any] = []

    def __call__(self, slots_address: int, grids_address: int, stream: int) -> int:
        self.reports = []
        for call in slots_of(self.artifact, slots_address, grids_address):
            self.reports.append(self._run(call))
        return 0

    def _run(self, call: Call) -> Any:
        from tile_tpu.simulate.arguments import Tensor
        from tile_tpu.simulate.device import SimulatedTpu

        tensors = [Tensor(t.name, t.address, t.nbytes, t.access) for t in call.tensors]
        device = SimulatedTpu(self.chip, seconds=settings.simulate_timeout())
        return device.run(self.library, call.symbol, [*tensors, *call.scalars], call.cores)
