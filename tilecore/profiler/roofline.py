"""How near a kernel comes to what its device can do: the roofline model, from the kernel's cost and a measured time.

A kernel takes at least the time of its operations at the peak rate, and that of its bytes at the peak bandwidth
(Williams, Waterman, Patterson, "Roofline: an insightful visual performance model for multicore architectures", CACM
2009).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.profiler.cost import KernelCost
from tilecore.profiler.tile_device import TileDevice, get_arch


@dataclass(frozen=True)
class Peaks:
    """The peaks of a device; 0.0 and missing ones are not known.

    vector_flops: operations a second without matrix instructions; matrix_flops: with them, by element type of A and B.
    bandwidth: bytes a second of global memory. source: where the figures come from.
    """

    vector_flops: float
    matrix_flops: Mapping[str, float]
    bandwidth: float
    source: str

    def matrix_rate(self, dtype: str) -> float:
        """Of products of this element type: without instructions for it, they run as other arithmetic does."""
        return self.matrix_flops.get(dtype, self.vector_flops)


def peaks_of(target: Any) -> Peaks:
    """The peaks of a target, from the figures that its backend gives (``tilecore.carver.arch``)."""
    device = get_arch(target)
    clock = device.clock * 1e9 * device.compute_max_core
    measured, usual = device.bandwidth[1], device.copy_bandwidth
    return Peaks(
        device.vector_ops * clock,
        {str(DType(name)): rate * clock for name, rate in device.matrix_ops.items() if rate * clock},
        (measured or usual) * 1e6,
        _source(device),
    )


def _source(device: TileDevice) -> str:
    target = device.target
    if not (device.clock or device.bandwidth[1] or device.copy_bandwidth):
        return f"target {target.kind!r}, whose backend gives no figures"
    figures = f"{type(device).__name__}, the figures for {target.kind!r}"
    if device.bandwidth[1]:
        return f"{figures}; bandwidth of {device.name or 'the device'} as its driver says"
    return f"{figures}, of usual devices of its architecture"


@dataclass(frozen=True)
class Roofline:
    """A measured time beside the device's limits. ``print`` gives a row."""

    cost: KernelCost
    milliseconds: float
    peaks: Peaks

    @property
    def tflops(self) -> float:
        """10**12 operations a second."""
        return self.cost.flops / self.milliseconds / 1e9

    @property
    def gigabytes(self) -> float:
        """10**9 bytes a second, of different elements."""
        return self.cost.bytes / self.milliseconds / 1e6

    @property
    def least_milliseconds(self) -> float | None:
        """The time at the device's peaks; None where a peak that the kernel needs is not known."""
        times = self._times()
        return None if None in times.values() else max((t for t in times.values() if t is not None), default=0.0) * 1e3

    @property
    def share(self) -> float | None:
        """The least time as a part of the measured one: 1.0 is the roofline."""
        least = self.least_milliseconds
        return None if least is None else least / self.milliseconds

    @property
    def limit(self) -> str | None:
        """What takes the least time: "memory", "matrix products" or "arithmetic"; None where peaks are not known."""
        times = {name: time for name, time in self._times().items() if time is not None}
        return max(times, key=lambda name: times[name]) if self.share is not None and times else None

    def _times(self) -> dict[str, float | None]:
        """Seconds at the peaks, of the parts that run at the same time."""
        cost, peaks = self.cost, self.peaks
        times: dict[str, float | None] = {}
        if cost.bytes:
            times["memory"] = cost.bytes / peaks.bandwidth if peaks.bandwidth else None
        rates = {dtype: peaks.matrix_rate(dtype) for dtype in cost.matrix_flops_by_type}
        if rates:
            products = [flops / rates[dtype] for dtype, flops in cost.matrix_flops_by_type.items() if rates[dtype]]
            times["matrix products"] = sum(products) if all(rates.values()) else None
        if cost.element_flops:
            times["arithmetic"] = cost.element_flops / peaks.vector_flops if peaks.vector_flops else None
        return times

    def __str__(self) -> str:
        bound = "" if self.cost.bound == "exact" else f" ({self.cost.bound})"
        row = (
            f"{self.cost.name}: {self.milliseconds:.4g} ms, {self.tflops:.4g} TFLOP/s, {self.gigabytes:.4g} GB/s, "
            f"{self.cost.intensity:.3g} flops/byte{bound}"
        )
        if self.share is None:
            missing = ", ".join(name for name, time in self._times().items() if time is None)
            return f"{row}; share of the roofline unknown: no peak for {missing} in {self.peaks.source}"
        return f"{row}; {self.share:.1%} of the roofline (limit: {self.limit}; peaks: {self.peaks.source})"
