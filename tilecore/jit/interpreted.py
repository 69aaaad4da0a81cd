"""Kernels that run by their definition: the interpreter as an execution backend of every target.

``TILECORE_INTERPRET=1`` chooses it. Nothing is lowered, emitted or kept on disk: each call runs the tile IR on numpy,
in sequence, and raises where the kernel reads outside of memory, reads what nothing wrote, or where parallel iterations
or blocks race. Arguments are checked, and outputs allocated, as for every other execution backend. The tensors of a
call are the host's.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tilecore.artifact.records import Artifact, Entry, TensorParam
from tilecore.compiler import CompileOptions, checked_outputs, out_idx_of, params_of
from tilecore.contract.adapter import INTERPRETED, KernelAdapter, LoadedKernel
from tilecore.contract.records import Backend, Presence
from tilecore.dtypes import dtype as DType
from tilecore.runtime.slots import CallReader, ScalarSlot, TensorSlot, storage
from tilecore.tensors.dlpack import HOST

if TYPE_CHECKING:
    from tilecore.interpreter import Program
    from tilecore.ir.nodes import PrimFunc
    from tilecore.target import Target

LARGEST_RUN = 1 << 20  # element operations of a benchmark; the interpreter is slow


class InterpreterAdapter(KernelAdapter):
    """Runs one function, given as tile IR, on numpy."""

    name = INTERPRETED
    device = HOST

    def __init__(self, func: PrimFunc) -> None:
        self.func = func

    def available(self, target: Target) -> Presence:
        return Presence(True, "numpy runs the tile IR")

    def load(self, artifact: Artifact) -> LoadedKernel:
        from tilecore.interpreter import Program

        program = Program(self.func)
        return LoadedKernel(InterpretedLaunch(artifact, program), owner=program)

    def largest_run(self) -> int | None:
        return LARGEST_RUN


class InterpretedLaunch:
    """``launch(slots_address, grids_address, stream)``: a call's slots as numpy arrays and numbers."""

    def __init__(self, artifact: Artifact, program: Program) -> None:
        self.artifact = artifact
        self.program = program
        self.read = CallReader(artifact, backward=True)

    def __call__(self, slots_address: int, grids_address: int, stream: int) -> int:
        call = self.read(slots_address, grids_address)
        tensors, scalars = iter(call.tensors), iter(call.scalars)
        arguments = [
            _given(next(tensors)) if isinstance(param, TensorParam) else number_of(next(scalars))
            for param in self.artifact.params
        ]
        self.program(*arguments)
        return 0


def _given(slot: TensorSlot) -> np.ndarray | None:
    """The array of a slot; None where the call passed None."""
    return None if slot.absent else array_of(slot)


def array_of(slot: TensorSlot) -> np.ndarray:
    """The memory of a tensor as a numpy array of its shape; packed elements as bytes, which hold two."""
    dtype = np.dtype(np.uint8) if slot.packed > 1 else DType(slot.dtype).as_numpy()
    shape, strides = storage(slot.shape, slot.strides, slot.packed)
    if not slot.nbytes:
        return np.empty(shape, dtype)
    before = slot.bytes_before
    memory = (ctypes.c_uint8 * (before + slot.nbytes)).from_address(slot.address - before)
    steps = tuple(step * dtype.itemsize for step in strides)
    return np.ndarray(shape, dtype, buffer=memoryview(memory), offset=before, strides=steps)


def number_of(slot: ScalarSlot) -> Any:
    """A scalar parameter as a Python number."""
    value = np.frombuffer(slot.data, DType(slot.dtype).as_numpy())[0]
    return value.item() if value.dtype.kind in "biuf" else float(value)


def interpreted(func: PrimFunc, backend: Backend, target: Target, options: CompileOptions) -> tuple[Artifact, Backend]:
    """The record of a kernel that the interpreter runs, and the backend with the execution backend that does it."""
    from tilecore.ir.host_assumptions import host_assumptions
    from tilecore.ir.sizes import scalar_symbols, symbols_of_params
    from tilecore.lowering.normalize.check_nests import check_nests

    check_nests(func)
    params = params_of(func)
    sizes = [d for p in params if isinstance(p, TensorParam) for d in (*p.shape, *(p.strides or ()))]
    assumptions = host_assumptions(func)
    sizes += [assumption.condition for assumption in assumptions]
    name = str(func.attrs["global_symbol"])
    artifact = Artifact(
        name=name,
        target=str(target),
        backend=backend.package,
        adapter=INTERPRETED,
        params=params,
        symbols=(*symbols_of_params(func.params), *scalar_symbols(func.params, sizes)),
        workspaces=(),
        entries=(Entry(name, (1, 1, 1)),),
        out_idx=checked_outputs(out_idx_of(func, options), func),
        source=str(func.script(show_meta=True)),
        source_format="tile-ir",
        binary=b"",
        binary_format="",
        assumptions=assumptions,
    )
    return artifact, replace(backend, adapters={**backend.adapters, INTERPRETED: InterpreterAdapter(func)})
