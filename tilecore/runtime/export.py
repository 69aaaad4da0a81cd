"""Kernels as files: written by ``kernel.export()``, loaded by ``tilecore.load_kernel()`` without TVM."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tilecore.cache.entry_format import decode, encode
from tilecore.errors import CacheError
from tilecore.runtime.artifact import Artifact

# An exported file is a cache entry that goes by this key: digests and all.
EXPORT_KEY = "e" * 64


def write_kernel(artifact: Artifact, path: str | os.PathLike[str]) -> Path:
    """Write atomically; raises CacheError when the folder cannot be written."""
    target = Path(path)
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent or ".", prefix=target.name, delete=False) as file:
            file.write(encode(EXPORT_KEY, artifact))
        os.replace(file.name, target)
    except OSError as error:
        raise CacheError(f"{target} cannot be written: {error.strerror or error}") from error
    return target


def read_kernel(path: str | os.PathLike[str]) -> Artifact:
    """The artifact in a file; raises CacheError when it is missing, damaged or of another version."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise CacheError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        return decode(data, EXPORT_KEY)
    except Exception as error:
        raise CacheError(f"{path} is not an exported kernel, or is damaged: {error}") from error


def load_kernel(path: str | os.PathLike[str]) -> object:
    """A JITKernel from a file that ``kernel.export()`` wrote."""
    from tilecore.plugins import manager
    from tilecore.runtime.kernel import JITKernel

    artifact = read_kernel(path)
    backend, target = manager.resolve(artifact.target)
    return JITKernel(artifact, backend, target)
