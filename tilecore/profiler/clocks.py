"""Chooses the clock that times a function: that of the kernel that it calls, of torch's accelerator, or the host's."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tilecore.contract.timing import HostTimer, Timer
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.profiler.flush import device_flush, host_flush
from tilecore.runtime.launcher import Launcher

if TYPE_CHECKING:
    from tilecore.contract.adapter import KernelAdapter
    from tilecore.jit.kernel import JITKernel

HOST = 1  # DLPack's device type of host memory


@dataclass(frozen=True)
class Clock:
    """How calls are timed on one device.

    timer: makes a stop watch. synchronize: waits for the device. flush: makes a function that empties the caches,
    given their size in MiB or None. on_host: calls return when their work is done. simulator: the execution backend
    that is one, else "".
    """

    timer: Callable[[], Timer]
    synchronize: Callable[[], None]
    flush: Callable[[int | None], Callable[[], None]]
    on_host: bool
    simulator: str = ""


def clock_for(fn: Callable[..., Any], device: Any, backend: str, kernel: JITKernel | None = None) -> Clock:
    """The clock of ``fn``.

    kernel: the one that it calls, if known; else kernels that it is, binds or names are looked for. device: "cpu", a
    torch device, its name or an index; it decides when given. Without either, torch's accelerator when torch is
    imported and has one, else the host.
    """
    timed = kernel if kernel is not None else next(kernels_of(fn), None)
    if device is None or isinstance(device, int):
        if timed is not None:
            return adapter_clock(timed.execution, timed.device_type, device or 0, backend)
        accelerator = _accelerator(device)
        return _host_clock(backend) if accelerator is None else _accelerator_clock(accelerator, backend)
    name = str(device)
    if name.partition(":")[0] == "cpu":
        return _host_clock(backend)
    if timed is not None and timed.execution.torch_device().partition(":")[0] == name.partition(":")[0]:
        index = int(name.partition(":")[2] or 0)
        return adapter_clock(timed.execution, timed.device_type, index, backend)
    return _accelerator_clock(device, backend)


def adapter_clock(adapter: KernelAdapter, device_type: int, index: int, backend: str) -> Clock:
    """The clock of an execution backend."""
    on_host = device_type == HOST
    return Clock(
        lambda: adapter.timer(index, backend),
        lambda: adapter.synchronize(index),
        host_flush if on_host else lambda size: device_flush(lambda shape: adapter.empty(shape, "int32", index), size),
        on_host,
        "" if adapter.largest_run() is None else adapter.name,
    )


def kernels_of(fn: Any) -> Iterator[JITKernel]:
    """The kernels that a function is, binds as an argument, closes over or names."""
    if isinstance(fn, functools.partial):
        yield from kernels_of(fn.func)
    for value in _values_of(fn):
        if isinstance(value, Launcher):
            yield cast("JITKernel", value)


def _values_of(fn: Any) -> list[Any]:
    """A launcher itself; what a partial or a bound method holds; what a function closes over, names or defaults to."""
    if isinstance(fn, Launcher):
        return [fn]
    if isinstance(fn, functools.partial):
        return list(fn.args)
    if isinstance(getattr(fn, "__self__", None), Launcher):
        return [fn.__self__]
    if not hasattr(fn, "__code__"):
        return []
    values = [cell.cell_contents for cell in fn.__closure__ or () if _is_filled(cell)]
    values += [fn.__globals__[name] for name in fn.__code__.co_names if name in fn.__globals__]
    return [*values, *(fn.__defaults__ or ())]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _host_clock(backend: str) -> Clock:
    if backend not in ("event", "wall"):
        raise UnsupportedError(f"the host cannot time by {backend!r}", expected='"event" or "wall"')
    return Clock(HostTimer, lambda: None, host_flush, True)


def _accelerator(index: int | None) -> Any:
    """torch's accelerator, if torch is imported and has one; ``index`` chooses among several."""
    torch = sys.modules.get("torch")
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is None or not accelerator.is_available():
        if index is not None:
            raise ArgumentError(f"device={index}: torch has no accelerator", expected='a torch device, or "cpu"')
        return None
    assert torch is not None
    kind = accelerator.current_accelerator().type
    return torch.device(kind, accelerator.current_device_index() if index is None else index)


def _accelerator_clock(device: Any, backend: str) -> Clock:
    import torch

    device = torch.device(device)
    if backend not in ("event", "wall"):
        raise UnsupportedError(f"torch cannot time by {backend!r}", expected='"event" or "wall"')

    def synchronize() -> None:
        torch.accelerator.synchronize(device)

    def buffer(shape: tuple[int, ...]) -> Any:
        return torch.empty(shape, dtype=torch.int32, device=device)

    make: Callable[[], Timer] = functools.partial(_EventTimer, device)
    if backend == "wall":
        make = functools.partial(HostTimer, synchronize)
    return Clock(make, synchronize, lambda size: device_flush(buffer, size), False)


class _EventTimer:
    """Two events of a torch device."""

    def __init__(self, device: Any) -> None:
        import torch

        self._begin, self._end = (torch.Event(device, enable_timing=True) for _ in range(2))

    def start(self) -> None:
        self._begin.record()

    def stop(self) -> None:
        self._end.record()

    def elapsed(self) -> float:
        self._end.synchronize()
        return self._begin.elapsed_time(self._end)
