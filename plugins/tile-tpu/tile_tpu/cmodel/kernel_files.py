"""Kernels built for the CModel, as files: its runtime loads them by path."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tilecore.errors import LaunchError

FIRMWARE = "libcmodel.so"


@dataclass(frozen=True)
class KernelLibrary:
    """Kernels built for the CModel.

    name: for people. binary: the library; path: a file with it. source: the emitted C.
    """

    name: str
    binary: bytes
    path: Path
    source: str = ""

    @property
    def firmware(self) -> Path:
        """The same file by the name that bmlib's CModel wants."""
        return self.path.parent / FIRMWARE

    @functools.cached_property
    def kernels(self) -> int:
        """How many it registers."""
        return len(set(re.findall(rb"tpu_kernel_register_(\w+)\0", self.binary)))

    def require(self, entry: str) -> None:
        """Raises LaunchError when it registers no such kernel: the vendor's runtime would be silent, or crash."""
        if f"tpu_kernel_register_{entry}\0".encode() not in self.binary:
            raise LaunchError(
                f"{self.name} does not register the kernel {entry}",
                found=os.fspath(self.path),
                hint=f"write TPUKERNEL_FUNC_REGISTER({entry}) at the end of the source",
            )


def kernel_library(name: str, binary: bytes, source: str = "") -> KernelLibrary:
    """The library as a file of this process, which goes with it.

    tpuRt's CModel tells libraries apart by the names of their files, without folders: each has its own.
    """
    digest = hashlib.sha256(binary).hexdigest()[:16]
    folder = Path(_folder(os.getpid()).name, digest)
    path = folder / f"lib{digest}.so"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        if not (folder / FIRMWARE).is_symlink():
            (folder / FIRMWARE).symlink_to(path.name)
        part = folder / f"{os.getpid()}.part"
        part.write_bytes(binary)
        os.replace(part, path)
    return KernelLibrary(name, binary, path, source)


@functools.lru_cache(maxsize=1)
def _folder(process: int) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tilecore-tpu-kernels-")
