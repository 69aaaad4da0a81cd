"""What the checks and benchmarks run on: a target, an execution backend, and torch's device for its tensors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import tilecore
from tile_hip.torch_build import build_problem


class Skipped(Exception):
    """A check that cannot run here; the argument says why."""


@dataclass(frozen=True)
class Machine:
    """target: as users write it. execution_backend: "hip", or "sim" for a rehearsal without a GPU."""

    target: str
    execution_backend: str

    @property
    def is_simulated(self) -> bool:
        return self.execution_backend == "sim"

    @property
    def torch(self) -> Any:
        """torch, which must be built for ROCm where a GPU is used. Raises RuntimeError where it is not."""
        import torch

        if not self.is_simulated:
            problem = build_problem()
            if problem:
                raise RuntimeError(f"{problem}: install torch for ROCm (pytorch.org has its packages)")
        return torch

    def device(self, index: int = 0) -> str:
        return "cpu" if self.is_simulated else f"cuda:{index}"

    def needs_gpu(self) -> None:
        """Raises Skipped on the simulated device."""
        if self.is_simulated:
            raise Skipped("the simulated device has no streams, graphs or events")

    def compile(self, kernel: Any, **options: Any) -> Any:
        return tilecore.compile(kernel, target=self.target, execution_backend=self.execution_backend, **options)

    def random(self, *shape: int, dtype: str = "float32", index: int = 0) -> Any:
        """A tensor of numbers between -1 and 1, the same in every run."""
        torch = self.torch
        generator = torch.Generator().manual_seed(7)
        values = torch.rand(shape, generator=generator) * 2 - 1
        return values.to(getattr(torch, dtype)).to(self.device(index))

    def zeros(self, *shape: int, dtype: str = "float32", index: int = 0) -> Any:
        torch = self.torch
        return torch.zeros(shape, dtype=getattr(torch, dtype), device=self.device(index))

    def synchronize(self) -> None:
        if not self.is_simulated:
            self.torch.cuda.synchronize()

    def milliseconds(self, function: Callable[[], Any], rounds: int = 20, calls: int = 5) -> float:
        """The median time of a call, by events of the device: ``rounds`` of ``calls`` each, after three calls."""
        if self.is_simulated:
            start = time.perf_counter()
            function()
            return (time.perf_counter() - start) * 1e3
        torch = self.torch
        for _ in range(3):
            function()
        times = []
        for _ in range(rounds):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(calls):
                function()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / calls)
        return median(times)


def largest_error(actual: Any, expected: Any) -> float:
    """The largest difference, as a part of the largest expected value."""
    difference = (actual.double().cpu() - expected.double().cpu()).abs().max().item()
    return difference / max(expected.double().abs().max().item(), 1e-30)


def close(actual: Any, expected: Any, tolerance: float) -> None:
    """Raises AssertionError where the largest error is above the tolerance, or a value is no number."""
    error = largest_error(actual, expected)
    if not error <= tolerance:
        raise AssertionError(f"the largest error is {error:.3g} of the largest value, and {tolerance:g} is allowed")
