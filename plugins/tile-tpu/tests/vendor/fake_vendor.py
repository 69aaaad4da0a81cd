"""A fake SDK: the folders of a release, with a small header and a runtime that runs on the host."""

from __future__ import annotations

import functools
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tile_tpu.chips import CHIPS
from tile_tpu.runtimes.records import Block, Launch, Pointer
from tile_tpu.toolchain.signatures import DECLARATIONS

HERE = Path(__file__).parent
KERNELS = (HERE / "kernels.c").read_text()


def release(root: Path, *chips: str, libraries: bool = False, header: str = "") -> Path:
    """A release at ``root`` with the headers of ``chips``; with ``libraries`` those of tpuRt too."""
    for name in chips or tuple(CHIPS):
        folder = root / "deps" / "chip" / CHIPS[name].arch
        include = folder / "TPU1686" / "kernel" / "include"
        include.mkdir(parents=True, exist_ok=True)
        (include / "tpu_kernel.h").write_text(header or (HERE / "tpu_kernel.h").read_text())
        if libraries:
            put(runtime_library(), folder / "lib" / "libtpuv7_emulator.so")
    if libraries:
        runtime = root / "deps" / "runtime" / "tpuv7-runtime" / "lib"
        put(runtime_library(), runtime / "libtpuv7_rt.so")
        put(runtime_library(), runtime / "libtpuv7_scalar_emulator.so")
    (root / "version").write_text("v9.9.1-gabc\nRELEASE\n")
    return root


def header(edit: Callable[[str], str] = lambda text: text) -> str:
    """A vendor's header: the declarations of tile-tpu's simulator, edited, in one file."""
    parts = [(DECLARATIONS / name).read_text() for name in ("tpu_types.h", "tpu_bdc.h", "tpu_dma.h")]
    return "#pragma once\n#include <stdbool.h>\n#include <stddef.h>\n" + edit("\n".join(parts))


def edited(pattern: str, replacement: str) -> Callable[[str], str]:
    """Replaces the first match of ``pattern``."""

    def edit(text: str) -> str:
        edited_text, count = re.subn(pattern, replacement, text, count=1, flags=re.DOTALL)
        assert count == 1
        return edited_text

    return edit


def put(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)


@functools.lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fake-vendor-")


@functools.lru_cache(maxsize=1)
def runtime_library() -> Path:
    """The runtime of fake_tpurt.c, in which kernels find the functions ``tpu_*``."""
    path = Path(_folder().name, "libfake_tpurt.so")
    source = os.fspath(HERE / "fake_tpurt.c")
    soname = "-Wl,-soname,libtpuv7_emulator.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", soname, source, "-o", os.fspath(path), "-ldl"], check=True)
    return path


def scale(x: np.ndarray, out: np.ndarray, factor: float, items: int = 1, n: int | None = None):
    """(blocks, launches) of ``scale_kernel``."""
    count = x.size if n is None else n
    return call("scale_kernel", x, out, count, factor, items)


def call(entry: str, x: np.ndarray, out: np.ndarray, n: int, factor: float = 0.0, items: int = 1):
    blocks = [
        Block("x", x.ctypes.data, x.nbytes, True, False),
        Block("out", out.ctypes.data, out.nbytes, True, True),
    ]
    arguments = struct.pack("QQif", 0, 0, n, factor)
    return blocks, [Launch(entry, arguments, [Pointer(0, 0, 0), Pointer(8, 1, 0)], items)]


def has_compiler() -> bool:
    return shutil.which("gcc") is not None
