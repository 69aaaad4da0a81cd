"""Where parts of CUDA are installed: environment variables, PATH, pip's packages, the usual folders."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_HOMES = ("CUDA_HOME", "CUDA_PATH")


def pip_folders() -> Iterator[Path]:
    """Folders of NVIDIA's pip packages: ``nvidia/cu13``, ``nvidia/cuda_nvrtc`` and the like."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from sorted((p for p in Path(place).glob("cu*") if p.is_dir()), reverse=True)


def toolkits() -> Iterator[Path]:
    """Folders of toolkits: CUDA_HOME and CUDA_PATH, then that of the nvcc on PATH, then /usr/local, newest first."""
    for name in _HOMES:
        if os.environ.get(name):
            yield Path(os.environ[name])
    on_path = shutil.which("nvcc")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    yield Path("/usr/local/cuda")
    yield from (Path(p) for p in sorted(glob.glob("/usr/local/cuda-*"), key=_version_of, reverse=True))


def _version_of(path: str) -> tuple[int, ...]:
    return tuple(int(w) for w in path.rpartition("-")[2].split(".") if w.isdigit())


def nvcc() -> tuple[Path | None, list[str]]:
    """The compiler, and the places that were looked at."""
    looked: list[str] = []
    homes = [Path(os.environ[n]) for n in _HOMES if os.environ.get(n)]
    on_path = shutil.which("nvcc")
    places = [h / "bin" / "nvcc" for h in homes] + ([Path(on_path)] if on_path else [])
    places += [folder / "bin" / "nvcc" for folder in (*pip_folders(), *toolkits())]
    for place in places:
        if os.access(place, os.X_OK):
            return place, looked
        looked.append(str(place))
    return None, [*looked, "PATH"]
