"""Writes kernels to files (``kernel.export()``), loads them without TVM (``tilecore.load_kernel()``), pickles them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tilecore.caller import keywords_checked
from tilecore.compilation_cache.entry_format import OtherFormatError, decode, encode
from tilecore.errors import CacheError, TargetError

if TYPE_CHECKING:
    from pathlib import Path

    from tilecore.artifact.records import Artifact
    from tilecore.contract.records import Backend
    from tilecore.jit.kernel import JITKernel
    from tilecore.target import Target

# An exported file is a cache entry that goes by this key: digests and all.
EXPORT_KEY = "e" * 64


def write_kernel(artifact: Artifact, path: str | os.PathLike[str]) -> Path:
    """Write atomically, in a folder that is made if there is none; raises CacheError when it cannot be written."""
    return write_file(path, encode(EXPORT_KEY, artifact))


def write_file(path: str | os.PathLike[str], data: bytes) -> Path:
    """As :func:`write_kernel`, of any data."""
    # here: a process that only loads kernels needs none
    from tilecore.whole_files import file_path, path_text, write_whole_bytes

    path_text(path, "the path of the file to write")
    try:
        target = file_path(path)
        write_whole_bytes(target, data)
    except OSError as error:
        raise CacheError(f"{os.fspath(path)} cannot be written: {error.strerror or error}") from error
    return target


def read_kernel(path: str | os.PathLike[str]) -> Artifact:
    """The artifact in a file; raises CacheError when it is missing, damaged or of another version."""
    if not path or not isinstance(path, (str, bytes, os.PathLike)):  # a number would be a file descriptor
        from tilecore.whole_files import path_text

        path_text(path, "load_kernel(): path")
    path = os.fsdecode(path)
    try:
        kind = os.stat(path).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # a pipe or a device gives bytes for ever, or waits for some
            raise CacheError(f"{path} is not an exported kernel", found="a pipe or a device", expected="a file")
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise CacheError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        return decode(data, EXPORT_KEY)
    except OtherFormatError as error:
        raise CacheError(
            f"{path} cannot be read: {error}", hint="export the kernel again with this version: kernel.export(path)"
        ) from error
    except Exception as error:
        _refuse_bundle(path, data)
        raise CacheError(f"{path} is not an exported kernel, or is damaged: {error}") from error


def _refuse_bundle(path: str, data: bytes) -> None:
    """Raises CacheError, which says how to open it, where the file is a bundle."""
    from tilecore.bundles.format import is_bundle

    if is_bundle(data):
        raise CacheError(
            f"{path} is not an exported kernel",
            found="a bundle, a file with many kernels, as `tilecore compile` writes it",
            expected="a file with one kernel, as kernel.export() writes it",
            hint=f"tilecore.load_bundle({path!r}) opens it, and its kernels have labels: bundle[label]",
        ) from None


@keywords_checked
def load_kernel(path: str | os.PathLike[str]) -> JITKernel:
    """A JITKernel from a file that ``kernel.export()`` wrote.

    Raises CacheError when the file is missing or damaged, TargetError when nothing installed runs its target,
    LaunchError when its target is not here, such as another processor.
    """
    from tilecore.runtime.simulation import warn_of_loading

    kernel = kernel_of(read_kernel(path))
    warn_of_loading(kernel.artifact, kernel.backend)
    return kernel


def kernel_of(artifact: Artifact, resolved: tuple[Backend, Target] | None = None) -> JITKernel:
    """The artifact as a kernel of this process. resolved: the backend and the target of ``artifact.target``, if they
    are known. Raises TargetError, LaunchError."""
    from tilecore.jit.ranged_kernel import kernel_class

    backend, target = _with_adapter(artifact, resolved)
    return kernel_class()(artifact, backend, target)


def kernel_of_any_device(artifact: Artifact, resolved: tuple[Backend, Target]) -> JITKernel:
    """As :func:`kernel_of`, of a device that need not be here: then a call of the kernel raises the LaunchError."""
    from tilecore.jit.absent import made_here

    return made_here(artifact, *_with_adapter(artifact, resolved))


def _with_adapter(artifact: Artifact, resolved: tuple[Backend, Target] | None) -> tuple[Backend, Target]:
    """The backend and the target of an artifact. Raises TargetError where it lacks the artifact's execution backend."""
    from tilecore.contract.adapter import SIMULATED
    from tilecore.plugins import manager

    backend, target = resolved or manager.resolve(artifact.target)
    if artifact.adapter not in backend.adapters:
        if artifact.adapter == SIMULATED:
            from tilecore.plugins.module_finder import require_compiler

            require_compiler("the simulated device")
        raise TargetError(
            f"{artifact.name} was exported for execution_backend={artifact.adapter!r}, which {backend.package} "
            f"{backend.version} does not have",
            expected=", ".join(backend.adapters),
            hint="export it again with this version",
        )
    return backend, target


def unpickled(artifact: Artifact, facts: dict[str, object]) -> JITKernel:
    """The kernel that pickle restores: a loaded kernel with the attributes in ``facts``."""
    kernel = kernel_of(artifact)
    for name, value in facts.items():
        setattr(kernel, name, value)
    return kernel
