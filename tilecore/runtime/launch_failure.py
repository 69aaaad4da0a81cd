"""The error of a launch that returned a code."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.artifact.records import Entry
from tilecore.contract.adapter import LoadedKernel
from tilecore.errors import LaunchError


def launch_failure(
    name: str, entries: Sequence[Entry], loaded: LoadedKernel, code: int, grids: Sequence[int]
) -> LaunchError:
    """``grids``: 4 numbers an entry (x, y, z, shared bytes) of the launch that failed."""
    meaning = loaded.error(code) if loaded.error is not None else None
    sizes = []
    for number, entry in enumerate(entries):
        x, y, z, shared = grids[4 * number : 4 * number + 4]
        text = f"{entry.symbol}: grid ({x}, {y}, {z}), threads {tuple(entry.threads)}"
        sizes.append(text + (f", {shared} bytes of shared memory" if shared else ""))
    return LaunchError(
        f"{name} failed: {meaning or 'the backend gave no reason'}",
        found=f"code {code}; launched " + "; ".join(sizes),
        hint=(loaded.advice(code) if loaded.advice is not None else "") or None,
    )
