"""What the checks and benchmarks run on: torch's device "mps", and the clock of the GPU where there is one."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from tilecore.testing.first_run.machine import Machine


class MetalMachine(Machine):
    """execution_backend: "torch" or "metal", or "sim" for a rehearsal without a Mac."""

    @property
    def torch(self) -> Any:
        """torch, which must know the device "mps" where a GPU is used. Raises RuntimeError where it does not."""
        import torch

        if not self.is_simulated and not torch.backends.mps.is_available():
            raise RuntimeError(
                f"torch {torch.__version__} has no device 'mps' here: "
                "it needs macOS on Apple silicon, and a Python for arm64"
            )
        return torch

    @property
    def shared_sizes(self) -> tuple[int, ...]:
        return 1024, 16 * 1024, 32 * 1024

    def device(self, index: int = 0) -> str:
        return "cpu" if self.is_simulated else "mps"

    def synchronize(self) -> None:
        if not self.is_simulated:
            self.adapter.synchronize()
            self.torch.mps.synchronize()

    def device_milliseconds(self, function: Callable[[], Any]) -> float | None:
        """The median of up to 20 calls, by the start and the end that the GPU notes for each command buffer; None for
        the execution backend "torch", whose events are times of the host."""
        if self.execution_backend != "metal":
            return None
        times: list[float] = []
        while len(times) < 3 or (len(times) < 20 and sum(times) < 1000):
            timer = self.adapter.timer(0, "event")
            timer.start()
            function()
            timer.stop()
            self.adapter.synchronize()
            times.append(timer.elapsed())
        return median(times)
