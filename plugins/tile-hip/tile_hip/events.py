"""Timing by HIP events."""

from __future__ import annotations

from tilecore.runtime.device_events import DeviceEventTimer


class EventTimer(DeviceEventTimer):
    """Measures the milliseconds between ``start`` and ``stop`` on one stream of the device."""

    create = "hipEventCreate"
    record = "hipEventRecord"
    synchronize = "hipEventSynchronize"
    destroy = "hipEventDestroy"

    def elapsed_function(self) -> str:
        return "hipEventElapsedTime"
