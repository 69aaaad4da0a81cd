"""Compiles source to a cubin by nvcc, in a child process."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tile_cuda import search
from tilecore import debug
from tilecore.errors import ToolchainError

_FIX = "install the CUDA toolkit and set CUDA_HOME, or pip install 'tile-cuda[nvcc]'"


@dataclass(frozen=True)
class Nvcc:
    """An nvcc: its path and version."""

    path: Path
    version: str

    def architectures(self) -> frozenset[int]:
        """Compute capabilities (90 for sm_90) that it compiles for."""
        return _architectures(self.path)

    def compile(
        self, source: str, include: Sequence[Path], options: Sequence[str], name: str
    ) -> tuple[bytes | None, str]:
        """(the cubin, or None where the compiler rejects the source; the compiler's messages)."""
        with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
            path, cubin_path = Path(folder) / "kernel.cu", Path(folder) / "kernel.cubin"
            path.write_text(source)
            command = [
                str(self.path),
                *options,
                *(f"-I{p}" for p in include),
                "-cubin",
                str(path),
                "-o",
                str(cubin_path),
            ]
            debug.command(" ".join(command))
            process = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=folder)
            messages = (process.stdout + process.stderr).replace(folder + os.sep, "")
            return (cubin_path.read_bytes() if process.returncode == 0 else None), messages


@functools.lru_cache(maxsize=4)
def _architectures(path: Path) -> frozenset[int]:
    process = subprocess.run([str(path), "--list-gpu-arch"], capture_output=True, text=True)
    return frozenset(int(capability) for capability in re.findall(r"compute_(\d+)", process.stdout))


@functools.lru_cache(maxsize=1)
def load() -> Nvcc:
    """The nvcc of this machine. Raises ToolchainError where there is none, or no host compiler for it."""
    path, searched = search.nvcc()
    if path is None:
        raise ToolchainError("nvcc is not installed", found="looked at " + ", ".join(searched[:8]), hint=_FIX)
    if not (shutil.which("g++") or shutil.which("clang++") or os.environ.get("NVCC_CCBIN")):
        raise ToolchainError(
            f"nvcc at {path} needs a host compiler, and there is none on PATH",
            expected="g++ or clang++",
            hint='install one, or compile with NVRTC: execution_backend="nvrtc"',
        )
    process = subprocess.run([str(path), "--version"], capture_output=True, text=True)
    match = re.search(r"V(\d+\.\d+\.\d+)", process.stdout)
    if match is None:
        output = (process.stderr or process.stdout)[:300]
        raise ToolchainError(f"{path} does not answer --version", found=output, hint=_FIX)
    return Nvcc(path, match[1])
