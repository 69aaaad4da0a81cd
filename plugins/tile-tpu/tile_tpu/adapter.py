"""The execution backends of ``tpu``.

``torch_tpu``: a card, through SophGo's extension of torch. ``tpurt``: a card, through the vendor's runtime. ``sim``:
tile-tpu's own simulator (``tile_tpu.simulated``). ``cmodel``: the vendor's simulator, on the host.

They expect the following of an artifact:

- ``source`` is the emitted C, ``binary`` the library built from it, ``binary_format`` "cmodel" or "firmware".
- ``target`` names the chip (``-chip=``).
- An entry's ``symbol`` is the function that the source registers (``TPUKERNEL_FUNC_REGISTER(symbol)``), of at most 62
  characters. Its attribute ``cores`` is the number of work items of the launch, one for each core (default: 1). The
  code may depend on this number. bmlib's CModel launches one work item only and refuses kernels for more.
- The struct of arguments has the layout that ``tile_tpu.launch`` describes. Every work item gets a copy of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_tpu.chips import chip_of
from tile_tpu.launch import call_of, cores_of, slots_of
from tile_tpu.simulated import SimulatorAdapter
from tile_tpu.target import DLPACK_EXTENSION
from tilecore.artifact.dims import evaluate
from tilecore.artifact.records import Artifact, ScalarParam, TensorParam, Workspace
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError, ToolchainError, UnsupportedError
from tilecore.target import Target
from tilecore.tensors.dlpack import HOST

CMODEL, FIRMWARE = "cmodel", "firmware"  # formats of binaries


class CModelAdapter(KernelAdapter):
    """The vendor's CModel: slow, and exact to the bit. Tensors are in host memory."""

    name = "cmodel"
    device = HOST
    simulates = True

    def available(self, target: Target) -> Presence:
        from tile_tpu.toolchain.search import find_cmodel

        chip = chip_of(target)
        try:
            files = find_cmodel(chip)
        except ToolchainError as error:
            return Presence(False, f"{error.message}: {error.hint}")
        return Presence(True, f"the vendor's CModel of {chip.name}, SDK {files.version or 'of unknown version'}")

    def binary_formats(self) -> Sequence[str]:
        return (CMODEL,)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Checks the kernels of the artifact. The process of the CModel starts at the first call. Raises ToolchainError
        without an SDK."""
        from tile_tpu.cmodel.device import CModelDevice
        from tile_tpu.cmodel.kernel_files import kernel_library

        device = CModelDevice(chip_of(Target.parse(artifact.target)))
        kernels = kernel_library(artifact.name, artifact.binary, artifact.source)
        for entry in artifact.entries:
            kernels.require(entry.symbol)
            device.require_items(entry.symbol, cores_of(entry))

        def launch(slots_address: int, grids_address: int, stream: int) -> int:
            blocks, launches = call_of(artifact, slots_address, grids_address)
            device.run(kernels, blocks, launches)
            return 0

        return LoadedKernel(launch, owner=kernels)

    def largest_run(self) -> int | None:
        return 1 << 19  # takes some seconds


class TpuRtAdapter(KernelAdapter):
    """A card through tpuRt. Tensors are in host memory: a call copies them to the card and back, and timings include
    it.

    Not tested on hardware; the CModel's runtime has the same functions, and the same code drives both.
    """

    name = "tpurt"
    device = HOST

    def available(self, target: Target) -> Presence:
        from tile_tpu.card.board import cards
        from tile_tpu.runtimes.records import RuntimeFailure

        chip = chip_of(target)
        if chip.runtime != "tpurt":
            return Presence(False, f"{chip.name} is driven by bmlib, through which tile-tpu runs the CModel only")
        try:
            count = cards()
        except RuntimeFailure as failure:
            return Presence(False, f"{failure}; install the card's driver and runtime")
        return Presence(count > 0, f"{count} card{'s' * (count != 1)}")

    def binary_formats(self) -> Sequence[str]:
        return (FIRMWARE,)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Opens the card and checks the kernels. Raises LaunchError where there is no card."""
        from tile_tpu.card.board import card_runtime
        from tile_tpu.card.execute import execute
        from tile_tpu.cmodel.kernel_files import kernel_library
        from tile_tpu.runtimes.records import RuntimeFailure

        chip = chip_of(Target.parse(artifact.target))
        kernels = kernel_library(artifact.name, artifact.binary, artifact.source)
        try:
            runtime = card_runtime()
        except RuntimeFailure as failure:
            raise LaunchError(f"{artifact.name} cannot be loaded: {failure}") from None

        def launch(slots_address: int, grids_address: int, stream: int) -> int:
            try:
                blocks, launches = call_of(artifact, slots_address, grids_address)
                execute(runtime, str(kernels.path), blocks, launches)
            except RuntimeFailure as failure:
                raise LaunchError(f"{artifact.name} failed on {chip.name}: {failure}") from None
            return 0

        return LoadedKernel(launch, owner=(kernels, runtime))


class TorchTpuAdapter(KernelAdapter):
    """A card through SophGo's torch_tpu, on its tensors and its current stream.

    Not tested on hardware; ``tile_tpu.card.torch_tpu`` describes what is not known.
    """

    name = "torch_tpu"
    device = DLPACK_EXTENSION

    def available(self, target: Target) -> Presence:
        from tile_tpu.card.torch_tpu import FIX, installed

        chip = chip_of(target)
        if chip.name not in ("bm1690", "sg2260e"):
            return Presence(False, f"torch_tpu launches kernels on BM1690 and SG2260E only, not on {chip.name}")
        package = installed()
        problem = package.problem()
        return (
            Presence(False, f"{problem}; {FIX}") if problem else Presence(True, f"SophGo's torch_tpu {package.version}")
        )

    def binary_formats(self) -> Sequence[str]:
        return (FIRMWARE,)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Raises LaunchError without SophGo's torch_tpu, and UnsupportedError for a kernel with scalars."""
        from tile_tpu.card.torch_tpu import FIX, SCALARS_KNOWN, operation
        from tile_tpu.cmodel.kernel_files import kernel_library

        scalar_names = [p.name for p in artifact.params if isinstance(p, ScalarParam)] + [
            s.name for s in artifact.symbols
        ]
        if scalar_names and not SCALARS_KNOWN:
            raise UnsupportedError(
                f"{artifact.name} takes scalars, which torch_tpu does not pass to kernels",
                found=f"scalars and sizes: {', '.join(scalar_names)}",
                expected="a kernel that takes tensors of fixed shapes only",
                hint='use execution_backend="tpurt", which passes them',
            )
        try:
            run = operation()
        except ImportError as error:
            raise LaunchError(f"{artifact.name} cannot be loaded: {error}", hint=FIX) from None
        kernels = kernel_library(artifact.name, artifact.binary, artifact.source)
        return LoadedKernel(
            _TorchLaunch(artifact, self.device or 0, run, str(kernels.path)), owner=kernels, on_device=True
        )

    def synchronize(self, device_index: int = 0) -> None:
        import torch

        getattr(torch, "tpu").synchronize(device_index)  # noqa: B009 - torch_tpu adds the module

    def torch_device(self, device_index: int = 0) -> str:
        return f"tpu:{device_index}"


class _TorchLaunch:
    """``launch(slots_address, grids_address, device, stream)`` through torch_tpu's operation."""

    def __init__(self, artifact: Artifact, device_type: int, run: Any, library: str) -> None:
        self.artifact, self.device_type, self.run, self.library = artifact, device_type, run, library

    def __call__(self, slots_address: int, grids_address: int, device: int, stream: int) -> int:
        from tile_tpu.card.torch_tpu import execute

        for call in slots_of(self.artifact, slots_address, grids_address):
            tensors = self._tensors([tensor.address for tensor in call.tensors], device)
            execute(self.run, self.library, call.symbol, tensors, [])
        return 0

    def _tensors(self, addresses: list[int], device: int) -> list[Any]:
        from tile_tpu.card.tensors import tensor_at

        params = [p for p in self.artifact.params if isinstance(p, TensorParam)]
        tensors = []
        memory: list[TensorParam | Workspace] = [*params, *self.artifact.workspaces]
        for declared, address in zip(memory, addresses, strict=True):
            shape = [evaluate(d, {}) for d in declared.shape]
            strides = [evaluate(d, {}) for d in getattr(declared, "strides", None) or ()] or _row_major(shape)
            tensors.append(tensor_at(address, shape, strides, declared.dtype, (self.device_type, device)))
        return tensors


def _row_major(shape: list[int]) -> list[int]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return strides[::-1]


def adapters() -> list[KernelAdapter]:
    """All execution backends, in the order in which ``auto`` tries them: a card, the vendor's simulator, tile-tpu's."""
    return [TorchTpuAdapter(), TpuRtAdapter(), CModelAdapter(), SimulatorAdapter()]
