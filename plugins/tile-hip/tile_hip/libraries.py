"""Finds the HIP runtime, libamdhip64: first the copy that is in this process already.

Two copies in one process share neither devices' memory nor streams. So the copy that torch loaded comes first, and
before torch is imported the one that it would load. The rest of the order: ROCM_PATH and HIP_PATH, the default folders
of ROCm and its Python packages, and the folders of the system's loader. ``TILE_HIP_RUNTIME`` names a file instead.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from tile_hip import compilers

LIBRARY = "libamdhip64.so"
NAMES = (LIBRARY, *(f"{LIBRARY}.{version}" for version in range(9, 4, -1)))
VARIABLE = "TILE_HIP_RUNTIME"
FIX = "install ROCm 6.0 or newer, or torch for ROCm; TILE_HIP_RUNTIME names the file of another libamdhip64.so"


class RuntimeMissing(Exception):
    """There is no HIP runtime, or none that can be opened."""


def open_runtime() -> tuple[ctypes.CDLL, str]:
    """The runtime, and its path or name. Raises RuntimeMissing, which says what was tried."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        try:
            return ctypes.CDLL(chosen), chosen
        except OSError as error:
            raise RuntimeMissing(f"{VARIABLE} names {chosen}, which cannot be opened ({error})") from None
    loaded = loaded_runtime()
    failures = []
    for name in [loaded] if loaded else candidates():
        try:
            return ctypes.CDLL(name), name
        except OSError as error:
            if os.sep in name:
                failures.append(f"{name} ({error})")
    if failures:
        raise RuntimeMissing("the HIP runtime cannot be opened: " + "; ".join(failures))
    raise RuntimeMissing(f"there is no HIP runtime ({LIBRARY})")


def loaded_runtime() -> str:
    """The path of the copy that this process has loaded; "" for none."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return ""
    paths = (line.split(None, 5)[-1] for line in lines if LIBRARY in line)
    return next((path for path in paths if Path(path).name.startswith(LIBRARY)), "")


def candidates() -> Iterator[str]:
    """The files that exist, then the names for the system's loader, in the order in which they are tried."""
    folders = [*torch_folders(), *(root / "lib" for root in compilers.roots())]
    for folder in folders:
        yield from (str(folder / name) for name in NAMES if (folder / name).is_file())
    yield from NAMES


def torch_folders() -> list[Path]:
    """The folder of the libraries of the installed torch, which is not imported; [] without torch."""
    try:
        specification = importlib.util.find_spec("torch")
    except ValueError:  # a module of that name that came from no file
        return []
    return [Path(place) / "lib" for place in (specification.submodule_search_locations or ())] if specification else []
