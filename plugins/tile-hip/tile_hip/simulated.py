"""The execution backend ``sim``: runs the emitted source on the host, with waves of the width that the target has."""

from __future__ import annotations

from pathlib import Path

from tile_hip.architectures import isa_version
from tile_hip.target import architecture_of, wave_of
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import SIMULATED, KernelAdapter, LoadedKernel
from tilecore.installation import compiler_is_installed
from tilecore.target import Target

NAME = SIMULATED
FORMAT = "simulation"  # the format of its binaries, which are empty: it compiles the source when it loads the artifact
INCLUDE = Path(__file__).parent / "include"


def simulated_adapter() -> KernelAdapter | None:
    """The execution backend that runs kernels on the simulated device; None without tilecore's compiler, which has the
    device."""
    if not compiler_is_installed():
        return None
    from tile_hip.lds_banks import lds_phases
    from tilecore.simulate.adapter import SimulatedAdapter
    from tilecore.simulate.device import SimulatedDevice

    class HipSimulatedAdapter(SimulatedAdapter):
        """Loads a kernel on a simulated device with the waves of its target."""

        def load(self, artifact: Artifact) -> LoadedKernel:
            target = Target.parse(artifact.target)
            wave = wave_of(target)
            # the language lets threads write one value to one element, as all threads of a row do after a reduction
            architecture = architecture_of(target)
            device = SimulatedDevice(
                warp=wave,
                shared_limit=architecture.shared_bytes,
                allow_same_value=True,
                bank_phases=lds_phases(architecture.name, wave),
            )
            definitions = [f"-DTC_WAVE={wave}", f"-DTC_ISA_VERSION={isa_version(architecture.name)}"]
            return SimulatedAdapter([INCLUDE], definitions, device, NAME).load(artifact)

    return HipSimulatedAdapter([INCLUDE], name=NAME)
