"""The launcher in Python: the same calls and errors as the built launcher, some microseconds slower per call."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.runtime.arguments import BoundCall, bind, by_position
from tilecore.runtime.call_plan import make_plan
from tilecore.runtime.launch_failure import launch_failure
from tilecore.runtime.workspaces import Workspaces
from tilecore.tensors.dlpack import capsule_address
from tilecore.tensors.torch_state import note_writes

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact

GIL_KEPT = 5_000  # nanoseconds; the GIL is kept during kernels that take at most this long

_SIGNATURE = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_ON_DEVICE = (*_SIGNATURE[:4], ctypes.c_int, ctypes.c_void_p)


class Launcher:
    """A loaded kernel as a callable: checks every argument and launches all entries.

    ``launcher(*args)`` takes a tensor or a number for each parameter that is not in ``artifact.out_idx``. Parameters in
    ``out_idx`` are allocated and returned (one tensor, or a list of several). Raises ArgumentError, LaunchError.
    device_type: DLPack device type of the tensors.
    """

    def __init__(self, artifact: Artifact, loaded: LoadedKernel, adapter: KernelAdapter, device_type: int) -> None:
        self.artifact = artifact
        self.loaded = loaded
        self._execution = adapter
        self.device_type = device_type
        self._plan = make_plan(artifact, device_type, loaded.sizes)
        self._workspaces = Workspaces(artifact.workspaces, adapter)
        self._has_streams = overrides_streams(adapter)
        self._native: tuple[Any, Any] | None = None
        if not callable(loaded.launch):
            address = capsule_address(loaded.launch, loaded.capsule_name.encode())
            signature = _ON_DEVICE if loaded.on_device else _SIGNATURE
            # the first keeps the GIL during the call, the second releases it
            self._native = (ctypes.PYFUNCTYPE(*signature)(address), ctypes.CFUNCTYPE(*signature)(address))

    @property
    def adapter(self) -> Any:
        return self._execution

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords:
            args = by_position(self._plan, args, keywords)
        call = bind(self._plan, args, self._execution, self._workspaces, self._has_streams)
        if call.blocks:
            code = self._launch(call)
            if code:
                raise launch_failure(self.artifact.name, self.artifact.entries, self.loaded, code, list(call.grids))
            note_writes(call.written)
        return call.returned()

    def _launch(self, call: BoundCall) -> int:
        slots, grids = ctypes.addressof(call.slots), ctypes.addressof(call.grids)
        where: tuple[Any, ...] = (call.device, call.stream) if self.loaded.on_device else (call.stream,)
        if self.loaded.takes_tensors:
            where = (*where, call.tensors)
        if self._native is None:
            return self.loaded.launch(slots, grids, *where)
        function = self._native[0 if 0 <= call.work <= GIL_KEPT else 1]
        return function(self.loaded.state, slots, grids, *where)


def overrides_streams(adapter: KernelAdapter) -> bool:
    """Whether the adapter overrides ``current_stream``; ``current_stream`` is called only where it does."""
    method = getattr(adapter.current_stream, "__func__", None)
    return method is not KernelAdapter.current_stream
