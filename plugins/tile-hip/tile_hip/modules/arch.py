"""``tilecore.carver.arch``: the figures of AMD's GPUs for programs that choose tile sizes by them."""

from __future__ import annotations

from typing import Any

from tile_hip.devices import visible_devices
from tile_hip.target import architecture_of, wave_of
from tilecore.errors import TargetError
from tilecore.profiler.tile_device import TileDevice, checked_kind

_UNITS = {"gfx90a": 104, "gfx942": 304, "gfx950": 256}  # compute units of MI210, MI300X and MI350X (AMD's data sheets)
# Of a unit in a cycle: operations of matrix instructions on 16-bit floats; GHz, and GB/s of the chip's memory (AMD's
# data sheets of the same chips and white papers of CDNA 2, 3 and 4, dense rates).
_SPEEDS = {"gfx90a": (1024, 1.7, 1600), "gfx942": (2048, 2.1, 5300), "gfx950": (4096, 2.2, 8000)}
_BYTES_TOO = ("gfx942", "gfx950")  # with matrix instructions on float8, of twice the rate
_LANES = 128  # float32 operations of a unit in a cycle, a multiply-add is two


class _Gpu(TileDevice):
    """The figures of a target of kind ``hip``; the number of units is the first device's where it has its
    architecture."""

    is_cdna = True

    def __init__(self, target: Any = "hip") -> None:
        super().__init__(checked_kind(target, "hip", type(self).__name__))
        architecture = architecture_of(self.target)
        if architecture.is_cdna is not self.is_cdna:
            raise TargetError(f"{architecture.name} is no chip of {type(self).__name__}", found=str(self.target))
        devices, _ = visible_devices()
        is_here = bool(devices) and devices[0].arch == architecture.name
        self.name = architecture.name if is_here else ""
        self.platform = type(self).__name__
        self.warp_size = wave_of(self.target)
        self.compute_capability = architecture.name.removeprefix("gfx")
        self.compute_max_core = devices[0].units if is_here else _UNITS.get(architecture.name, 0)
        self.sm_partition, self.transaction_size = (4 if self.is_cdna else 2), [32, 128]
        self.vector_ops, self.matrix_group = _LANES, (self.warp_size, 16, 64)
        if architecture.name in _SPEEDS:
            rate, self.clock, gigabytes = _SPEEDS[architecture.name]
            self.matrix_ops = {"float16": rate, "bfloat16": rate, "int8": 2 * rate}
            if architecture.name in _BYTES_TOO:
                kinds = ("float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3fn", "float8_e5m2")
                self.matrix_ops |= dict.fromkeys(kinds, 2 * rate)
            self.copy_bandwidth = gigabytes * 1000


class CDNA(_Gpu):
    """The figures of a chip of CDNA: gfx90a, gfx942, gfx950."""


class RDNA(_Gpu):
    """The figures of a chip of RDNA: gfx11 and gfx12."""

    is_cdna = False


def is_cdna_arch(arch: TileDevice) -> bool:
    return isinstance(arch, CDNA)


def is_rdna_arch(arch: TileDevice) -> bool:
    return isinstance(arch, RDNA)


def get_num_sms(device_id: int = 0) -> int:
    """The compute units of a device. Raises RuntimeError where there is none."""
    devices, reason = visible_devices()
    if not 0 <= device_id < len(devices):
        raise RuntimeError(f"there is no AMD GPU {device_id} on this machine: {reason or f'there are {len(devices)}'}")
    return devices[device_id].units
