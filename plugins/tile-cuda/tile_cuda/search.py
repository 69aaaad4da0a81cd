"""Finds the parts of CUDA by environment variables, PATH, pip's packages and the usual folders."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

_HOMES = ("CUDA_HOME", "CUDA_PATH")


def pip_folders() -> Iterator[Path]:
    """The folders of NVIDIA's pip packages: ``nvidia/cu13``, ``nvidia/cuda_nvrtc`` and the like."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from sorted((path for path in Path(folder).glob("cu*") if path.is_dir()), reverse=True)


def toolkits() -> Iterator[Path]:
    """The folders of toolkits: CUDA_HOME and CUDA_PATH, that of the nvcc on PATH, those in /usr/local, newest first."""
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
    """The path of nvcc, or None; and the paths that were tried before."""
    tried: list[str] = []
    homes = [Path(os.environ[name]) for name in _HOMES if os.environ.get(name)]
    on_path = shutil.which("nvcc")
    candidates = [home / "bin" / "nvcc" for home in homes] + ([Path(on_path)] if on_path else [])
    candidates += [folder / "bin" / "nvcc" for folder in (*pip_folders(), *toolkits())]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return candidate, tried
        tried.append(str(candidate))
    return None, [*tried, "PATH"]
