"""What the checks and benchmarks run on: a target, an execution backend, and torch's device for its tensors."""

from __future__ import annotations

import itertools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import tilecore
from tilecore.contract.adapter import KernelAdapter
from tilecore.plugins import manager

_SEEDS = itertools.count(7)


class Skipped(Exception):
    """A check that cannot run here; the argument says why."""


@dataclass(frozen=True)
class Machine(ABC):
    """target: as users write it. execution_backend: the backend's, or "sim" for a rehearsal without a device."""

    target: str
    execution_backend: str

    @property
    def is_simulated(self) -> bool:
        return self.execution_backend == "sim"

    @property
    @abstractmethod
    def torch(self) -> Any:
        """torch, which must have tensors on the device. Raises RuntimeError where it has not."""

    @abstractmethod
    def device(self, index: int = 0) -> str:
        """torch's name of a device; "cpu" on the simulated one."""

    @abstractmethod
    def synchronize(self) -> None:
        """Waits until all that was launched has ended."""

    @property
    def adapter(self) -> KernelAdapter:
        """The execution backend."""
        backend, _ = manager.resolve(self.target)
        return backend.adapters[self.execution_backend]

    @property
    def shared_sizes(self) -> tuple[int, ...]:
        """The sizes of a block's shared memory that a check tries, in bytes: whole kibibytes."""
        return 1024, 32 * 1024

    def needs_device(self) -> None:
        """Raises Skipped on the simulated device."""
        if self.is_simulated:
            raise Skipped("the simulated device has no streams, graphs or events")

    def compile(self, kernel: Any, **options: Any) -> Any:
        return tilecore.compile(kernel, target=self.target, execution_backend=self.execution_backend, **options)

    def random(self, *shape: int, dtype: str = "float32", index: int = 0) -> Any:
        """A tensor of numbers between -1 and 1. Tensors differ, and are the same in every run."""
        torch = self.torch
        generator = torch.Generator().manual_seed(next(_SEEDS))
        values = torch.rand(shape, generator=generator) * 2 - 1
        return values.to(getattr(torch, dtype)).to(self.device(index))

    def zeros(self, *shape: int, dtype: str = "float32", index: int = 0) -> Any:
        torch = self.torch
        return torch.zeros(shape, dtype=getattr(torch, dtype), device=self.device(index))

    def milliseconds(self, function: Callable[[], Any]) -> float:
        """The median time of a call by the host's clock, over batches of calls between two synchronisations. On the
        simulated device: of one call."""
        return 1e3 * _seconds(function) if self.is_simulated else batch_milliseconds(function, self.synchronize)

    def device_milliseconds(self, function: Callable[[], Any]) -> float | None:
        """The time of a call by the device's own clock; None where the execution backend has none."""
        return None


def batch_milliseconds(function: Callable[[], Any], synchronize: Callable[[], None]) -> float:
    """The median time of a call in milliseconds, by the host's clock over batches of calls between two
    synchronisations, after three calls. A batch takes at least 50 ms, beside which a synchronisation is short."""

    def batch(calls: int) -> Callable[[], None]:
        def run() -> None:
            for _ in range(calls):
                function()
            synchronize()

        return run

    batch(3)()
    estimate = _seconds(batch(1))
    calls = max(1, min(1000, math.ceil(0.05 / max(estimate, 1e-6))))
    rounds = 10 if estimate < 0.5 else 3
    return median(1e3 * _seconds(batch(calls)) / calls for _ in range(rounds))


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def largest_error(actual: Any, expected: Any) -> float:
    """The largest difference of two tensors of torch, as a part of the largest expected value. In float64 on the host,
    as a device may have no float64."""
    actual, expected = actual.cpu().double(), expected.cpu().double()
    difference = (actual - expected).abs().max().item()
    return float(difference / max(expected.abs().max().item(), 1e-30))


def close(actual: Any, expected: Any, tolerance: float) -> None:
    """Raises AssertionError where the largest error is above the tolerance, or a value is no number."""
    error = largest_error(actual, expected)
    if not error <= tolerance:
        raise AssertionError(f"the largest error is {error:.3g} of the largest value, and {tolerance:g} is allowed")
