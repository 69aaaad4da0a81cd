"""Launches kernels: wraps the memory of tensors in OpenCL buffers, and reads back the buffers that kernels write.

Buffers are created with ``CL_MEM_USE_HOST_PTR``: devices that share the host's memory use it in place, others copy.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
import pyopencl as cl

from tilecore.artifact.records import Artifact
from tilecore.runtime.slots import CallReader, TensorSlot

FLAGS = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR


class Launch:
    """The launch function of a ``LoadedKernel``, of the addresses of slots and grids. A lock serializes calls."""

    def __init__(self, artifact: Artifact, commands: Any, program: Any) -> None:
        self.queue, self.read, self.lock = commands, CallReader(artifact), threading.Lock()
        self.kernels = [cl.Kernel(program, entry.symbol) for entry in artifact.entries]
        self.scratch = {workspace.name for workspace in artifact.workspaces}
        self.assertions = [list(entry.attributes.get("assertions", ())) for entry in artifact.entries]

    def __call__(self, slots: int, grids: int, stream: int) -> int:
        call = self.read(slots, grids)
        failed = np.zeros(1, np.int32)
        with self.lock:
            buffers = self._buffers(call.tensors)
            flag = cl.Buffer(self.queue.context, FLAGS, hostbuf=failed)
            arguments = [*buffers, *(scalar.data for scalar in call.scalars), flag, cl.LocalMemory(4)]
            for launch in call.launches:
                kernel, threads = self.kernels[launch.number], launch.entry.threads
                size = tuple(blocks * count for blocks, count in zip(launch.grid, threads, strict=True))
                kernel.set_args(*arguments)
                cl.enqueue_nd_range_kernel(self.queue, kernel, size, threads)
                if self.assertions[launch.number]:
                    self._read_back(flag, 4)
                    if failed[0]:
                        return sum(map(len, self.assertions[: launch.number])) + int(failed[0])
            for tensor, buffer in zip(call.tensors, buffers, strict=True):
                if buffer is not None and "w" in tensor.access and tensor.name not in self.scratch:
                    self._read_back(buffer, buffer.size)
            self.queue.finish()
        return 0

    def _buffers(self, tensors: Sequence[TensorSlot]) -> list[Any]:
        """The buffer of each tensor. Tensors at one address share a buffer; empty tensors have None."""
        largest: dict[int, int] = {}
        for tensor in tensors:
            largest[tensor.address] = max(tensor.nbytes, largest.get(tensor.address, 0))
        buffers = {
            address: cl.Buffer(self.queue.context, FLAGS, hostbuf=(ctypes.c_char * size).from_address(address))
            for address, size in largest.items()
            if size
        }
        return [buffers.get(tensor.address) if tensor.nbytes else None for tensor in tensors]

    def _read_back(self, buffer: Any, size: int) -> None:
        """Makes the device's writes visible in the host's memory."""
        mapped = cl.enqueue_map_buffer(self.queue, buffer, cl.map_flags.READ, 0, (size,), np.dtype(np.uint8))
        array, _ = cast("tuple[Any, Any]", mapped)  # and an event; pyopencl's types name the array only
        array.base.release(self.queue)

    def words(self, code: int) -> str:
        return f"the assertion does not hold: {[*chain(*self.assertions)][code - 1]}"
