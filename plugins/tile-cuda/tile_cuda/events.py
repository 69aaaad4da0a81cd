"""Timing by CUDA events."""

from __future__ import annotations

from tile_cuda.driver import Driver
from tilecore.runtime.device_events import DeviceEventTimer


class EventTimer(DeviceEventTimer):
    """Measures the milliseconds between ``start`` and ``stop`` on one stream of the device."""

    create = "cuEventCreate"
    create_arguments = (0,)  # no flags
    record = "cuEventRecord"
    synchronize = "cuEventSynchronize"
    destroy = "cuEventDestroy_v2"

    def __init__(self, driver: Driver, index: int, stream: int) -> None:
        newest = "cuEventElapsedTime_v2"
        self._elapsed = newest if driver.address(newest) else "cuEventElapsedTime"
        super().__init__(driver, index, stream)

    def elapsed_function(self) -> str:
        return self._elapsed
