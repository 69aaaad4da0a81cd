"""The execution backend ``sim``: runs the emitted source on the host, on the simulated device of tilecore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tile_cuda.launch.entries import launch_entry
from tilecore import debug
from tilecore.artifact.records import Artifact, Entry
from tilecore.contract.adapter import SIMULATED, KernelAdapter, LoadedKernel
from tilecore.errors import UnsupportedError
from tilecore.installation import compiler_is_installed

if TYPE_CHECKING:
    from tilecore.simulate.arguments import Record, Tensor

NAME = SIMULATED
FORMAT = "simulation"  # the format of its binaries, which are empty: it compiles the source when it loads the artifact


def simulated_adapter() -> KernelAdapter | None:
    """The execution backend, or None without tilecore's compiler, which has the simulated device."""
    if not compiler_is_installed():
        return None
    from tile_cuda.headers import INCLUDE
    from tile_cuda.simulated_maps import simulated_map
    from tilecore.simulate.adapter import SimulatedAdapter
    from tilecore.simulate.device import SimulatedDevice

    class CudaSimulatedAdapter(SimulatedAdapter):
        """Ignores launch attributes that change the speed only, and refuses features that it does not simulate."""

        def load(self, artifact: Artifact) -> LoadedKernel:
            for entry in artifact.entries:
                _check_facts(entry)
            return super().load(artifact)

        def further_parameters(
            self, entry: Entry, arguments: Sequence[Tensor | int], symbols: Mapping[str, int]
        ) -> Sequence[Record]:
            maps = launch_entry(entry).tensor_maps
            return [simulated_map(tensor_map, arguments, symbols, entry.symbol) for tensor_map in maps]

    # the language lets threads write the same value to one element, as all threads of a row do after a reduction
    return CudaSimulatedAdapter(INCLUDE, device=SimulatedDevice(allow_same_value=True, own_proxy=True), name=NAME)


def _check_facts(entry: Entry) -> None:
    facts = launch_entry(entry)
    for tensor_map in facts.tensor_maps:
        if tensor_map.interleave != "none":
            raise UnsupportedError(
                f"{entry.symbol}: the simulated device does not support the interleaved tensor map of "
                f"{tensor_map.name}",
                found=f"interleave {tensor_map.interleave!r}",
                expected="'none'",
            )
    ignored = {
        "an L2 access policy window": facts.window_slot >= 0,
        "programmatic dependent launch": facts.programmatic,
        "a shared memory carveout": facts.carveout is not None,
    }
    for feature, is_used in ignored.items():
        if is_used:
            debug.say(debug.BACKEND, f"{entry.symbol}: {feature} has no effect on the simulated device")
