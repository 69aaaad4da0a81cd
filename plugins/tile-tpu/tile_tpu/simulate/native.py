"""The interface of the simulator in ctypes. The records match those of src/chip.h and src/launch.h."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from tile_tpu.chips import CHIPS, Chip
from tilecore.errors import ToolchainError

_i32, _u32, _u64, _double = ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_double
_CORES = 8
COUNTS = (
    "bytes_in", "bytes_out", "bytes_l2", "bytes_local", "commands", "bank_conflicts", "regions", "dma_cycles",
    "vector_cycles", "matrix_cycles", "conflict_cycles", "hau_cycles", "serial_cycles", "overlapped_cycles",
    "region_serial_cycles", "wait_cycles", "total_cycles", "high_water",
)  # fmt: skip


class CChip(ctypes.Structure):
    _fields_ = [
        *((name, _i32) for name in (
            "number", "cores", "lanes", "lane_bytes", "banks", "eu_bytes", "cube_columns", "depth32", "depth16",
            "depth8",
        )),
        *((name, _u64) for name in ("l2_base", "l2_bytes", "global_base", "static_bytes")),
        *((name, _double) for name in ("ddr_bytes_per_cycle", "l2_bytes_per_cycle", "dma_cycle", "vector_cycle")),
        ("beat_bytes", _i32),
        ("name", ctypes.c_char * 20),
    ]  # fmt: skip


class CTensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 64), ("host", ctypes.c_void_p), ("bytes", _u64), ("address", _u64), ("access", _u32),
        ("padding", _u32),
    ]  # fmt: skip


class CLaunch(ctypes.Structure):
    _fields_ = [
        ("chip", CChip), ("entry", ctypes.c_void_p), ("arguments", ctypes.c_void_p), ("argument_bytes", _u64),
        ("tensors", ctypes.POINTER(CTensor)), ("tensor_count", _i32), ("work_items", _i32), ("command_limit", _u64),
        ("seconds", _double), ("interrupt", ctypes.POINTER(_i32)),
    ]  # fmt: skip


class CReport(ctypes.Structure):
    _fields_ = [
        *((name, _i32) for name in ("failed", "line", "core", "padding")),
        ("kind", ctypes.c_char * 32), ("function", ctypes.c_char * 64), ("message", ctypes.c_char * 512),
        ("found", ctypes.c_char * 512), ("expected", ctypes.c_char * 512), ("hint", ctypes.c_char * 512),
        ("tensor", ctypes.c_char * 64), ("counts", (_double * 18) * _CORES),
    ]  # fmt: skip


def chip_record(chip: Chip) -> CChip:
    """The record of a chip. Bandwidths are in bytes per DMA cycle, times in cycles of the tensor unit."""
    record = CChip()
    record.number = list(CHIPS).index(chip.name)
    for name in ("cores", "lanes", "lane_bytes", "banks", "eu_bytes", "cube_columns", "l2_base", "l2_bytes",
                 "global_base", "static_bytes", "beat_bytes"):  # fmt: skip
        setattr(record, name, getattr(chip, name))
    for bits, depth in chip.cube_depth:
        setattr(record, f"depth{bits}", depth)
    record.ddr_bytes_per_cycle = chip.ddr_gb_per_s * 1000 / chip.dma_mhz
    record.l2_bytes_per_cycle = chip.l2_gb_per_s * 1000 / chip.dma_mhz
    record.dma_cycle = chip.vector_mhz / chip.dma_mhz
    record.vector_cycle = 1.0
    record.name = chip.name.encode()
    return record


_loaded: dict[str, Any] = {}


def load_simulator(path: Path) -> Any:
    """The simulator as a ctypes library, which is loaded once; the name of its file identifies its content."""
    library = _loaded.get(path.name)
    return library if library is not None else _loaded.setdefault(path.name, _load(path))


def _load(path: Path) -> Any:
    library = ctypes.CDLL(str(path))
    library.tpu_sim_layout.restype = _u64
    expected = ctypes.sizeof(CLaunch) + 1000 * ctypes.sizeof(CReport) + 10_000_000 * ctypes.sizeof(CTensor)
    if library.tpu_sim_layout() != expected:
        raise ToolchainError(
            "the library of the simulator was built by another version of tile-tpu",
            found=str(path),
            expected="a library with the records of this version",
            hint="delete this file; the next run builds it again",
        )
    library.tpu_sim_run.argtypes = [ctypes.POINTER(CLaunch), ctypes.POINTER(CReport)]
    library.tpu_sim_run.restype = ctypes.c_int
    library.tpu_sim_functions.restype = ctypes.c_char_p
    library.tpu_sim_printed.restype = ctypes.c_char_p
    return library
