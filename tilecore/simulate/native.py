"""The runtime's interface in ctypes; the records are those of runtime/src/report.h."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from tilecore.errors import ToolchainError

_u32, _u64, _i64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
LINE_SITE = 0x8000_0000
SHARED, NOWHERE = -2, -1


class CTensor(ctypes.Structure):
    _fields_ = [("host", ctypes.c_void_p), ("bytes", _u64), ("item", _u32), ("access", _u32), ("row", _u64)]


class CPointer(ctypes.Structure):
    _fields_ = [("slot", _u32), ("tensor", _u32), ("offset", _u64)]


class CWord(ctypes.Structure):
    _fields_ = [("tensor", _u32), ("target", _u32), ("at", _u64), ("offset", _u64)]


class CBankPhases(ctypes.Structure):
    _fields_ = [
        *((name, _u32) for name in ("size", "banks", "reads", "writes", "count", "reserved")),
        ("masks", ctypes.POINTER(_u64)),
    ]


class CLaunch(ctypes.Structure):
    _fields_ = [
        ("entry", ctypes.c_void_p),
        ("slots", ctypes.POINTER(_i64)),
        ("tensors", ctypes.POINTER(CTensor)),
        ("pointers", ctypes.POINTER(CPointer)),
        *((name, _u32) for name in ("slot_count", "tensor_count", "pointer_count")),
        ("grid", _u32 * 3),
        ("block", _u32 * 3),
        *(
            (name, _u32)
            for name in ("warp", "workers", "most_resident", "allow_same_value", "count_banks", "own_proxy")
        ),
        ("cluster", _u32 * 3),
        *((name, _u64) for name in ("shared_bytes", "shared_limit", "seed")),
        ("seconds", ctypes.c_double),
        ("interrupt", ctypes.POINTER(ctypes.c_int32)),
        ("bank_phases", ctypes.POINTER(CBankPhases)),
        ("bank_phases_count", _u64),
        ("words", ctypes.POINTER(CWord)),
        ("word_count", _u64),
    ]


class CAccess(ctypes.Structure):
    _fields_ = [("what", ctypes.c_char * 48), ("thread", _u32), ("block", _u32 * 3), ("site", _u32), ("known", _u32)]


class CReport(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_char * 32),
        ("message", ctypes.c_char * 2048),
        ("access", CAccess),
        ("other", CAccess),
        ("space", ctypes.c_int32),
        ("size", _u32),
        ("offset", _i64),
        ("address", _u64),
    ]


COUNTS = (
    "shared_reads", "shared_writes", "global_reads", "global_writes", "barriers", "warp_operations", "atomics",
    "asynchronous", "switches", "blocks",
)  # fmt: skip


class CCounts(ctypes.Structure):
    _fields_ = [(name, _u64) for name in COUNTS]


class CBankLine(ctypes.Structure):
    _fields_ = [("site", _u32), ("worst", _u32), ("requests", _u64), ("passes", _u64), ("least_passes", _u64)]


_loaded: dict[str, Any] = {}


def load_runtime(path: Path) -> Any:
    """The runtime as a ctypes library. Kernels link to it by its file name, which identifies its contents: a library of
    that name is loaded once, even where the folder of the cache changes meanwhile."""
    runtime = _loaded.get(path.name)
    return runtime if runtime is not None else _loaded.setdefault(path.name, _load(path))


def _load(path: Path) -> Any:
    library = ctypes.CDLL(str(path))
    library.tc_sim_layout.restype = _u64
    expected = ctypes.sizeof(CLaunch) + 1000 * ctypes.sizeof(CReport) + 10_000_000 * ctypes.sizeof(CCounts)
    if library.tc_sim_layout() != expected:
        raise ToolchainError(
            "the simulated device's runtime was built for other records than this package has",
            found=str(path),
            hint="delete that file",
        )
    library.tc_sim_run.argtypes = [ctypes.POINTER(CLaunch), ctypes.POINTER(CReport), ctypes.POINTER(CCounts)]
    library.tc_sim_run.restype = ctypes.c_int
    library.tc_sim_printed.restype = ctypes.c_char_p
    library.tc_sim_bank_lines.argtypes = [ctypes.POINTER(CBankLine), _u32]
    library.tc_sim_bank_lines.restype = _u32
    return library


def bank_lines(library: Any) -> list[CBankLine]:
    count = library.tc_sim_bank_lines(None, 0)
    lines = (CBankLine * max(count, 1))()
    library.tc_sim_bank_lines(lines, count)
    return list(lines[:count])
