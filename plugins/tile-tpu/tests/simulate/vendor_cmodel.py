"""The vendor's CModel as the tests use it: where it is, building for it, running on it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

CHILD = Path(__file__).with_name("vendor_cmodel_child.py")
Job = tuple[str, list[np.ndarray], bytes, int]


def find_wheel() -> Path | None:
    """The folder ``tpu_mlir`` of the unpacked wheel: TILECORE_TPU_MLIR, or where tile-tpu installs it."""
    named = os.environ.get("TILECORE_TPU_MLIR")
    if named:
        root = Path(named)
        for place in (root, root / "tpu_mlir"):
            if (place / "lib" / "libtpuv7_emulator.so").exists():
                return place
    return None


def build(wheel: Path, source: str, folder: Path, chip) -> Path:
    """The kernels of ``source`` for the CModel of ``chip``."""
    headers = wheel / "cross_toolchains/ppl_compile/deps/chip" / chip.arch / "TPU1686/kernel/include"
    path = folder / f"{chip.name}.so"
    text = folder / f"{chip.name}.c"
    text.write_text(source)
    subprocess.run(
        ["gcc", "-O1", "-w", "-fPIC", "-shared", "-DUSING_CMODEL", *(f"-D{name}" for name in chip.defines),
         f"-I{headers}", "-Werror=implicit-function-declaration", str(text), "-Wl,-z,defs", "-o", str(path),
         f"-L{wheel}/lib", f"-l:{chip.device_library}", "-lm", f"-Wl,-rpath,{wheel}/lib"],
        check=True,
    )  # fmt: skip
    return path


def run(wheel: Path, kernels: Path, chip, jobs: Sequence[Job], seconds: float = 60) -> list[list[np.ndarray] | str]:
    """The arrays after each launch; of the one that ended the process its last words, and nothing after it."""
    with tempfile.NamedTemporaryFile() as results:
        request = pickle.dumps((str(wheel / "lib"), chip.device_library, chip.cores, str(kernels), list(jobs)))
        ended = subprocess.run(
            [sys.executable, str(CHILD), results.name], input=request, capture_output=True, timeout=seconds
        )
        found: list[list[np.ndarray] | str] = []
        with open(results.name, "rb") as file:
            while len(found) < len(jobs):
                try:
                    found.append(pickle.load(file))
                except EOFError:
                    break
    if len(found) < len(jobs):
        words = (ended.stdout + ended.stderr).decode(errors="replace")
        found.append(f"exit {ended.returncode}: {words[-2000:]}")
    return found
