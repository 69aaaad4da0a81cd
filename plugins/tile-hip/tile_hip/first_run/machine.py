"""What the checks and benchmarks run on: torch for ROCm, whose devices are named as CUDA's."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from tile_hip.torch_build import build_problem
from tilecore.testing.first_run.machine import Machine


class HipMachine(Machine):
    """execution_backend: "hip", or "sim" for a rehearsal without a GPU."""

    @property
    def torch(self) -> Any:
        """torch, which must be built for ROCm where a GPU is used. Raises RuntimeError where it is not."""
        import torch

        if not self.is_simulated:
            problem = build_problem()
            if problem:
                raise RuntimeError(f"{problem}: install torch for ROCm (pytorch.org has its packages)")
        return torch

    @property
    def shared_sizes(self) -> tuple[int, ...]:
        return 1024, 32 * 1024, 60 * 1024

    def device(self, index: int = 0) -> str:
        return "cpu" if self.is_simulated else f"cuda:{index}"

    def synchronize(self) -> None:
        if not self.is_simulated:
            self.torch.cuda.synchronize()

    def milliseconds(self, function: Callable[[], Any]) -> float:
        """The median time of a call, by events of the device: 20 times 5 calls, after three calls."""
        if self.is_simulated:
            return super().milliseconds(function)
        torch = self.torch
        for _ in range(3):
            function()
        times = []
        for _ in range(20):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(5):
                function()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / 5)
        return median(times)
