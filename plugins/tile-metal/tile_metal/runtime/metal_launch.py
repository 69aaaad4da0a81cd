"""Compiles an artifact's program by Metal and launches its kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tile_metal.packed_scalars import ATTRIBUTE
from tile_metal.runtime import checks, messages
from tile_metal.runtime.archive import archive_of
from tile_metal.runtime.clock import Clock
from tile_metal.runtime.device import Bound, Buffer, Device, Dispatch, Refused
from tile_metal.runtime.host_memory import Copies
from tilecore.artifact.records import Artifact, Entry
from tilecore.errors import ArgumentError, LaunchError
from tilecore.runtime.slots import CallReader, EntryLaunch, TensorSlot

HOST_KINDS = (1, 3, 11)  # DLPack's types of memory of the host
_LATE = "TILECORE_SIMULATE=1 runs the kernel on the host and reports wrong accesses"


class MetalLaunch:
    """``launch(slots, grids, stream, tensors)`` for the kernels of one artifact."""

    def __init__(self, artifact: Artifact, device: Device, clock: Clock) -> None:
        program = checks.check_program(artifact)
        self.artifact = artifact
        self._device = device
        self._clock = clock
        self._read = CallReader(artifact, backward=True)
        self._no_elements: Buffer | None = None
        try:
            msl = checks.msl_of(artifact)
            self._library = device.library(program, msl)
            archive = archive_of(device, program, msl, artifact.versions.get(artifact.backend, ""))
            self._pipelines = self._library.pipelines([entry.symbol for entry in artifact.entries], archive)
        except Refused as error:
            raise checks.refused_program(artifact, "Metal", str(error)) from None
        for entry, pipeline in zip(artifact.entries, self._pipelines, strict=True):
            checks.check_pipeline(entry, pipeline.threads, pipeline.static_bytes)

    def __call__(self, slots: int, grids: int, stream: int, tensors: Sequence[Any]) -> int:
        call = self._read(slots, grids)
        for launch in call.launches:
            checks.check_grid(launch.entry, launch.grid)
        copies = Copies(self._device)
        try:
            bound = [self._bound(slot, tensor, copies) for slot, tensor in zip(call.tensors, tensors, strict=True)]
            scalars = [Bound(data=scalar.data) for scalar in call.scalars]
            packed = [Bound(data=b"".join(scalar.data.ljust(8, b"\0") for scalar in call.scalars))]
            self._wait_for_torch(tensors)
            for launches in self._groups(call.launches):
                is_packed = bool(launches[0].entry.attributes.get(ATTRIBUTE))
                self._run(launches, [*bound, *(packed if is_packed else scalars)])
        except Refused as error:
            found = "; ".join(f"{e.entry.symbol}: grid {e.grid}, threads {e.entry.threads}" for e in call.launches)
            raise LaunchError(f"{self.artifact.name} failed: {error}", found=found, hint=_LATE) from None
        finally:
            copies.back()
        return 0

    def _bound(self, slot: TensorSlot, tensor: Any, copies: Copies) -> Bound:
        """The argument for a tensor of torch's on "mps", whose storage is a buffer, or for one on the host."""
        if not slot.nbytes:
            return Bound(self._dummy().handle)
        if _is_on_mps(tensor):
            return Bound(tensor.untyped_storage().data_ptr(), tensor.storage_offset() * tensor.element_size())
        if not hasattr(tensor, "__array_interface__") and tensor.__dlpack_device__()[0] not in HOST_KINDS:
            raise ArgumentError(
                f"{self.artifact.name}(): {slot.name} is in memory of a GPU that another library has",
                found=f"a {type(tensor).__module__}.{type(tensor).__name__}",
                expected='a torch tensor on "mps", or a tensor on the host',
                hint=f"numpy.asarray({slot.name}), or its copy as a torch tensor",
            )
        return copies.bind(slot)

    def _dummy(self) -> Buffer:
        """What stands for a tensor without elements: Metal's checks want a buffer in every slot."""
        if self._no_elements is None:
            self._no_elements = self._device.buffer(16)
        return self._no_elements

    def _wait_for_torch(self, tensors: Sequence[Any]) -> None:
        """torch has a queue of its own, whose kernels write the tensors: it must have ended before this one begins."""
        if any(map(_is_on_mps, tensors)):
            from tile_metal.runtime.torch_module import LOCK, torch_in_use

            torch = torch_in_use()
            if torch is not None:
                with LOCK:
                    torch.mps.synchronize()

    @staticmethod
    def _groups(launches: Sequence[EntryLaunch]) -> list[list[EntryLaunch]]:
        """Kernels that run in one command buffer: all, but for those whose messages are read before the next one."""
        groups: list[list[EntryLaunch]] = []
        apart = True
        for launch in launches:
            writes = messages.writes_messages(launch.entry)
            if apart or writes:
                groups.append([])
            groups[-1].append(launch)
            apart = writes
        return groups

    def _run(self, launches: Sequence[EntryLaunch], bound: Sequence[Bound]) -> None:
        entry = launches[0].entry
        writes = messages.writes_messages(entry)
        buffer = self._device.buffer(4 * messages.BUFFER_WORDS) if writes else None
        further = [Bound(buffer.handle)] if buffer is not None else []
        if buffer is not None:
            ctypes.memset(buffer.address, 0, 4 * messages.BUFFER_WORDS)
        dispatches = [
            Dispatch(self._pipelines[launch.number], [*bound, *further], launch.grid, launch.entry.threads)
            for launch in launches
        ]
        self._clock.add(self._device.run(dispatches))
        if buffer is not None:
            self._report(entry, buffer)

    def _report(self, entry: Entry, buffer: Buffer) -> None:
        head_size = 4 * messages.HEAD_WORDS
        head = ctypes.string_at(buffer.address, head_size)
        memory = ctypes.string_at(buffer.address + head_size, 4 * messages.words_used(head))
        messages.report(self.artifact.name, entry, messages.read(entry, head, memory))


def _is_on_mps(tensor: Any) -> bool:
    """Whether it is torch's, on "mps"."""
    return getattr(getattr(tensor, "device", None), "type", "") == "mps"
