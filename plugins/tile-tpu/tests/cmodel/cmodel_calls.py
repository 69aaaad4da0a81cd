"""Calls on a CModelDevice, and its processes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from fake_vendor import call, scale
from tile_tpu.cmodel import pool


def run_scale(device, kernels, n=1000, factor=3.0, items=1):
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    device.run(kernels, *scale(x, out, factor, items))
    assert np.array_equal(out, x * np.float32(factor))


def run(device, kernels, entry, n=0, items=1):
    x, out = np.zeros(4, np.float32), np.zeros(4, np.float32)
    device.run(kernels, *call(entry, x, out, n, items=items))


def workers():
    return [slot.worker.pid for slot in pool._slots.values() if slot.worker is not None]


def state(pid):
    """The state of a process from /proc: "R", "S", "T" for stopped, "Z"; "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def reaches(pid, *states, seconds=30):
    end = time.monotonic() + seconds
    while state(pid) not in states and time.monotonic() < end:
        time.sleep(0.05)
    return state(pid) in states
