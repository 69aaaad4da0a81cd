"""SimulatedAdapter: the execution backend that runs a SIMT target's emitted source on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilecore import codegen
from tilecore.contract.adapter import SIMULATED, KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError, ToolchainError
from tilecore.runtime.slots import CallReader, EntryLaunch
from tilecore.simulate.arguments import Record, Tensor
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.device import SimulatedDevice
from tilecore.simulate.library import KernelLibrary, compile_kernels
from tilecore.simulate.pointers import PointedWord, pointed_words

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact, Entry
    from tilecore.target import Target

HOST = 1  # DLPack's device type


class SimulatedAdapter(KernelAdapter):
    """What a plugin adds to its adapters so that its kernels run without the hardware.

    include: folders of its headers, which have a simulated form under ``TC_SIMULATE``; the emitter's own is added.
    flags: for the host compiler. device: warp width, limits and options of the device; without one, threads may write
    one value to one place without order, as the language lets them. The tensors of a call are the host's.
    """

    device = HOST
    simulates = True

    def __init__(
        self, include: Sequence[str | Path], flags: Sequence[str] = (), device: SimulatedDevice | None = None,
        name: str = SIMULATED,
    ) -> None:  # fmt: skip
        self.name = name
        self.include = (*(Path(folder) for folder in include), Path(codegen.__file__).parent / "include")
        self.flags = tuple(flags)
        self.simulated = device or SimulatedDevice(allow_same_value=True)

    def available(self, target: Target) -> Presence:
        try:
            compiler = find_compiler()
        except ToolchainError as error:
            return Presence(False, f"{error.message}; {error.found}; {error.hint}")
        return Presence(True, f"simulated on the host, compiled by {compiler.version}")

    def binary_formats(self) -> Sequence[str]:
        return ("simulation",)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Compile the artifact's source for the host, or take the library from the cache on disk."""
        symbols = [entry.symbol for entry in artifact.entries]
        library = compile_kernels(artifact.source, symbols, self.include, self.flags)
        launch = SimulatedLaunch(artifact, library, self.simulated, self.further_parameters)
        return LoadedKernel(launch, owner=library)

    def further_parameters(
        self, entry: Entry, arguments: Sequence[Tensor | int], symbols: Mapping[str, int]
    ) -> Sequence[Record]:
        """The parameters that the backend's launcher appends to the slots; called for every launch.

        arguments: those of the slots, in their order. symbols: the sizes of the call, by name. Raises LaunchError for a
        launch that is not possible."""
        return ()

    def largest_run(self) -> int | None:
        return 1 << 24


class SimulatedLaunch:
    """``launch(slots_address, grids_address, stream)`` for the kernels of one artifact."""

    def __init__(
        self, artifact: Artifact, library: KernelLibrary, device: SimulatedDevice,
        further: Callable[..., Sequence[Record]] = lambda entry, arguments, symbols: (),
    ) -> None:  # fmt: skip
        self.artifact = artifact
        self.library = library
        self.device = device
        self.further = further
        self.read = CallReader(artifact, backward=True)

    def __call__(self, slots_address: int, grids_address: int, stream: int) -> int:
        call = self.read(slots_address, grids_address)
        numbers = [int.from_bytes(scalar.data, "little") for scalar in call.scalars]
        tensors = [*map(Tensor.of_slot, call.tensors)]
        words = pointed_words(self.artifact.name, self.artifact.params, tensors)
        for launch in call.launches:
            self._run(launch, [*tensors, *numbers], call.symbols, words)
        return 0

    def _run(
        self, launch: EntryLaunch, arguments: Sequence[Tensor | int], symbols: Mapping[str, int],
        words: Sequence[PointedWord],
    ) -> None:  # fmt: skip
        entry, grid = launch.entry, launch.grid
        if 0 in grid:  # nothing to do, whatever its tensors are
            return
        cluster = entry.attributes.get("cluster", (1, 1, 1))
        if any(g % c for g, c in zip(grid, cluster, strict=False)):
            raise LaunchError(
                f"{entry.symbol}: the grid is no multiple of its clusters of {tuple(cluster)} blocks",
                found=f"a grid of {grid} blocks",
            )
        values = [*arguments, *self.further(entry, arguments, symbols)]
        self.device.run(
            self.library, entry.symbol, grid, entry.threads, values, launch.shared_bytes, cluster=cluster, words=words
        )
