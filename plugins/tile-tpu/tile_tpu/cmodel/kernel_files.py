"""Writes kernels that are built for the CModel to files, as its runtime loads them by path."""

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
    """A library of kernels for the CModel.

    name: the name in messages. binary: the library. path: the file that contains it. source: the emitted C.
    """

    name: str
    binary: bytes
    path: Path
    source: str = ""

    @property
    def firmware(self) -> Path:
        """The same file under the name that bmlib's CModel expects."""
        return self.path.parent / FIRMWARE

    @functools.cached_property
    def kernels(self) -> int:
        """The number of kernels that the library registers."""
        return len(set(re.findall(rb"tpu_kernel_register_(\w+)\0", self.binary)))

    def require(self, entry: str) -> None:
        """Raises LaunchError where the library does not register the kernel ``entry``: the vendor's runtime would
        ignore it, or crash."""
        if f"tpu_kernel_register_{entry}\0".encode() not in self.binary:
            raise LaunchError(
                f"{self.name} does not register the kernel {entry}",
                found=os.fspath(self.path),
                hint=f"write TPUKERNEL_FUNC_REGISTER({entry}) at the end of the source",
            )


def kernel_library(name: str, binary: bytes, source: str = "") -> KernelLibrary:
    """The library in a file that exists as long as this process.

    tpuRt's CModel identifies libraries by the names of their files without folders, so each library has its own name.
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
