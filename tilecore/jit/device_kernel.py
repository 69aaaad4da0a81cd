"""Compiles a kernel of a simulated device for the device itself, which need not be here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilecore.contract.adapter import KernelAdapter
from tilecore.errors import TargetError, UnsupportedError
from tilecore.ir.attributes import FunctionAttr
from tilecore.jit.compile import compile_ir
from tilecore.jit.request import make_request
from tilecore.plugins.suitable import suitable_names
from tilecore.runtime.simulation import is_simulation, real_adapter, simulates

if TYPE_CHECKING:
    from tilecore.contract.records import Backend
    from tilecore.jit.kernel import JITKernel
    from tilecore.target import Target


def kernel_with_host_code(kernel: JITKernel) -> JITKernel:
    """The kernel itself, or, where a simulated device runs it, the same kernel for the device, by the target's first
    execution backend that gives host code. Raises UnsupportedError where none gives it and where the kernel was loaded
    from a file, and the errors of a compilation."""
    artifact, backend = kernel.artifact, kernel.backend
    if not is_simulation(artifact, backend):
        return kernel
    name = _first_with_host_code(backend, kernel.target)
    if name is None:
        raise UnsupportedError(
            f"{artifact.name} is not exported as a library: no execution backend of target {kernel.target.kind!r} "
            "gives host code",
            expected='kernel.export("kernel.tck"), and tilecore.load_kernel("kernel.tck") where it is used',
            hint=f'compile it with execution_backend="{real_adapter(backend)}" for that, which needs no device',
        )
    try:
        func = kernel.prim_func
    except TargetError:
        raise UnsupportedError(
            f"{artifact.name} is not exported as a library: it was compiled for a simulated device and loaded from a "
            "file, which has no tile IR to compile for the device",
            hint=f'compile it from its source with execution_backend="{name}", which needs no device',
        ) from None
    out_idx = None if func.attrs.get(FunctionAttr.OUT_IDX, ()) else list(artifact.out_idx)
    request = make_request(
        out_idx, name, kernel.target, None, kernel.verbose, kernel.pass_configs, kernel.compile_flags
    )
    # TILECORE_SIMULATE chooses the simulated device for kernels that are called, and this one is not called
    target = backend.adapters[name].target(kernel.target)
    return compile_ir(lambda: func, replace(request, adapter=name, target=target, is_adapter_chosen=True))


def _first_with_host_code(backend: Backend, target: Target) -> str | None:
    """The first execution backend for devices that has a ``host_code`` of its own; None where there is none."""
    for name in suitable_names(backend, target):
        has_own = type(backend.adapters[name]).host_code is not KernelAdapter.host_code
        if has_own and not simulates(name, backend):
            return name
    return None
