"""How kernels are loaded and launched: a binary becomes a library, whose kernels run on the simulated device."""

from __future__ import annotations

import ctypes
import hashlib
import os
from typing import Any

from tile_acme import toolchain  # isort: skip
from tilecore.artifact.dims import evaluate
from tilecore.artifact.records import Artifact, ScalarParam, TensorParam
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import ToolchainError
from tilecore.simulate import native
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.build import library_folder, runtime_library
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.device import SimulatedDevice
from tilecore.simulate.library import KernelLibrary
from tilecore.target import Target

HOST = 1  # DLPack's device type
# threads may write one value to one place: all threads of a row do after a reduction
DEVICE = SimulatedDevice(warp=32, max_threads=1024, shared_limit=48 << 10, allow_same_value=True)


class AcmeAdapter(KernelAdapter):
    """One kernel after the other, each finished when its call returns."""

    name = "acme"
    device = HOST

    def available(self, target: Target) -> Presence:
        try:
            return Presence(True, f"simulated on the host, compiled by {find_compiler().version}")
        except ToolchainError as error:
            return Presence(False, f"{error.message}; {error.found}; {error.hint}")

    def binary_formats(self) -> tuple[str, ...]:
        return (toolchain.FORMAT,)

    def load(self, artifact: Artifact) -> LoadedKernel:
        library = loaded(artifact)
        return LoadedKernel(Launch(artifact, library), owner=library)

    def largest_run(self) -> int:
        return 1 << 24


def loaded(artifact: Artifact) -> KernelLibrary:
    """The binary as a file, named by what is in it, beside the library that it is linked to."""
    runtime = runtime_library(find_compiler())
    path = library_folder() / f"acme-{hashlib.sha256(artifact.binary).hexdigest()[:32]}.so"
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(artifact.binary)
        part.replace(path)
    symbols = tuple(entry.symbol for entry in artifact.entries)
    return KernelLibrary(path, artifact.source, symbols, native.load_runtime(runtime))


class Launch:
    """``launch(slots_address, grids_address, stream)`` for the kernels of one artifact."""

    def __init__(self, artifact: Artifact, library: KernelLibrary) -> None:
        self.artifact, self.library = artifact, library
        self.tensors = [p for p in artifact.params if isinstance(p, TensorParam)]
        self.scalars = [p for p in artifact.params if isinstance(p, ScalarParam)]

    def __call__(self, slots_address: int, grids_address: int, stream: int) -> int:
        arguments = self.arguments(slots_address)
        grids = (ctypes.c_int64 * (4 * len(self.artifact.entries))).from_address(grids_address)
        for number, entry in enumerate(self.artifact.entries):
            x, y, z, shared = grids[4 * number : 4 * number + 4]
            DEVICE.run(self.library, entry.symbol, (x, y, z), entry.threads, arguments, shared)
        return 0

    def arguments(self, slots_address: int) -> list[Any]:
        """Tensors, workspaces, scalars, sizes: the order of the slots."""
        artifact = self.artifact
        fixed = len(self.tensors) + len(artifact.workspaces) + len(self.scalars)
        slots = list((ctypes.c_int64 * (fixed + len(artifact.symbols))).from_address(slots_address))
        sizes = {symbol.name: value for symbol, value in zip(artifact.symbols, slots[fixed:], strict=True)}
        values: list[Any] = list(slots)
        for number, param in enumerate(self.tensors):
            shape = tuple(evaluate(d, sizes) for d in param.shape)
            strides = None if param.strides is None else tuple(evaluate(d, sizes) for d in param.strides)
            access = "rw" if param.packed > 1 and "w" in param.access else param.access
            address = slots[number] & (2**64 - 1)
            values[number] = Tensor(param.name, address, param.dtype, shape, access, strides, param.packed)
        for number, workspace in enumerate(artifact.workspaces, len(self.tensors)):
            shape = tuple(evaluate(d, sizes) for d in workspace.shape)
            values[number] = Tensor(workspace.name, slots[number] & (2**64 - 1), workspace.dtype, shape, "rw")
        return values


def adapters() -> list[KernelAdapter]:
    """In the order in which they are tried."""
    return [AcmeAdapter()]
