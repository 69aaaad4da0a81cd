"""Builds the error for a launch that returned an error code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilecore.errors import LaunchError

if TYPE_CHECKING:
    from tilecore.artifact.records import Entry
    from tilecore.contract.adapter import LoadedKernel


def launch_failure(
    name: str, entries: Sequence[Entry], loaded: LoadedKernel, code: int, grids: Sequence[int]
) -> LaunchError:
    """The LaunchError for a code. grids: 4 integers per entry: blocks along x, y, z, and bytes of shared memory."""
    meaning = loaded.error(code) if loaded.error is not None else None
    if isinstance(meaning, LaunchError):
        return meaning
    sizes = []
    for index, entry in enumerate(entries):
        x, y, z, shared = grids[4 * index : 4 * index + 4]
        text = f"{entry.symbol}: grid ({x}, {y}, {z}), threads {tuple(entry.threads)}"
        sizes.append(text + (f", {shared} bytes of shared memory" if shared else ""))
    return LaunchError(
        f"{name} failed: {meaning or 'the backend gave no reason'}",
        found=f"code {code}; launched " + "; ".join(sizes),
        hint=(loaded.advice(code) if loaded.advice is not None else "") or None,
    )
