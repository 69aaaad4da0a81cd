"""Defines ``kernel.adapter``, the execution backend of one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore.artifact.records import Entry
    from tilecore.contract.adapter import KernelAdapter
    from tilecore.jit.kernel import JITKernel
    from tilecore.runtime.params import KernelParam
    from tilecore.target import Target


class BaseKernelAdapter:
    """A kernel's execution backend, with the kernel: ``adapter.func(*args)`` is a call of the kernel.

    Everything that a :class:`~tilecore.contract.adapter.KernelAdapter` has, it has: ``name``, ``synchronize``,
    ``timer``, ``empty``, ``torch_device``, ``current_stream`` and the others.
    """

    def __init__(self, execution: KernelAdapter, kernel: JITKernel) -> None:
        self._execution = execution
        self._kernel = kernel

    @property
    def func(self) -> JITKernel:
        """The kernel, as the function that it is."""
        return self._kernel

    @property
    def params(self) -> tuple[KernelParam, ...]:
        return self._kernel.params

    @property
    def result_idx(self) -> list[int]:
        """Positions of the parameters that a call allocates and returns."""
        return self._kernel.out_idx

    @property
    def target(self) -> Target:
        return self._kernel.target

    @property
    def prim_func(self) -> Any:
        """The kernel's tile IR."""
        return self._kernel.prim_func

    @property
    def kernels(self) -> tuple[Entry, ...]:
        """The records of the functions that a call launches on the device."""
        return self._kernel.artifact.entries

    def get_host_source(self) -> str:
        """See the kernel's method of this name."""
        return self._kernel.get_host_source()

    def get_device_source(self) -> str:
        """The source that was emitted for the device."""
        return self._kernel.get_kernel_source()

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The source that was emitted for the device."""
        return self._kernel.get_kernel_source(kernel_only)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._kernel(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name in ("_execution", "_kernel"):  # not there yet, as when it is copied
            raise AttributeError(name)
        return getattr(self._execution, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseKernelAdapter) and other._kernel is self._kernel

    def __hash__(self) -> int:
        return hash(id(self._kernel))

    def __repr__(self) -> str:
        return f"<{self._execution.name} of {self._kernel!r}>"
