"""The runtime library of a machine with a card."""

from __future__ import annotations

import ctypes.util
import functools
import os
import threading
from pathlib import Path

from tile_tpu.runtimes.records import RuntimeFailure
from tile_tpu.runtimes.tpurt import TpuRt, device_count, open_library
from tile_tpu.toolchain.search import search

NAME = "libtpuv7_rt.so"
USUAL = "/opt/tpuv7/tpuv7-current/lib"  # the folder in which the vendor's driver package installs the library


def board_library() -> tuple[Path | None, list[str]]:
    """(the runtime library that drives cards or None, the paths without one). The runtime library of the CModel, which
    has the same name, does not count."""
    searched: list[str] = []
    loaders_path = os.environ.get("LD_LIBRARY_PATH", "")
    folders = [*loaders_path.split(":"), USUAL]
    folders += [os.fspath(sdk.root / "deps" / "runtime" / "tpuv7-runtime" / "lib") for sdk in search().sdks]
    for folder in dict.fromkeys(f for f in folders if f):
        path = Path(folder) / NAME
        if path.is_file() and not drives_cmodel(path):
            return path, searched
        searched.append(f"{path} drives the CModel" if path.is_file() else os.fspath(path))
    library_name = _library_of_the_system(loaders_path)
    return (Path(library_name), searched) if library_name else (None, searched)


@functools.lru_cache(maxsize=1)
def _library_of_the_system(loaders_path: str) -> str | None:
    """The library's name where the dynamic loader finds it; ``loaders_path`` is where it looks first. A search starts
    three programs, and every kernel that chooses an execution backend asks for it."""
    return ctypes.util.find_library("tpuv7_rt")


def drives_cmodel(library: Path) -> bool:
    """Whether a runtime library is that of the CModel, which needs the emulator of the card's daemon."""
    try:
        return b"libcdm_daemon_emulator" in library.read_bytes()
    except OSError:
        return False


def cards() -> int:
    """The number of cards that the runtime finds. Raises RuntimeFailure where there is no runtime or it does not
    start."""
    return device_count(open_library(_path()))


@functools.lru_cache(maxsize=1)
def _path() -> str:
    path, searched = board_library()
    if path is None:
        raise RuntimeFailure(f"there is no {NAME} that drives a card; searched: {', '.join(searched[:4])}")
    return os.fspath(path)


_lock = threading.Lock()
_runtimes: dict[int, TpuRt] = {}


def card_runtime(device: int = 0) -> TpuRt:
    """The runtime of a card, which is opened once. Raises RuntimeFailure."""
    with _lock:
        if device not in _runtimes:
            _runtimes[device] = TpuRt(_path(), device)
        return _runtimes[device]
