"""Installs the vendor's wheel: unpacks the needed files to a temporary folder, which then replaces the installation."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import zipfile
import zlib
from pathlib import Path

from tile_tpu.toolchain import wheel
from tile_tpu.toolchain.fetch import Progress, check, disk_full, fetch
from tilecore.contract.records import Installable, InstallRequest
from tilecore.errors import ToolchainError

MANIFEST = "installed.json"  # every file and its size
UNPACKED_BYTES = 104_000_000
_SPARE_BYTES = 16 << 20


def installed(folder: str) -> str:
    """The folder in which the wheel is unpacked, below tilecore's folder for the target; "" where it is not unpacked,
    or a file is missing."""
    installation = Path(folder) / wheel.FOLDER
    try:
        sizes = json.loads((installation / MANIFEST).read_text())
        whole = all((installation / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return ""
    return os.fspath(installation) if whole else ""


def install(request: InstallRequest) -> str:
    """Downloads the wheel or takes the user's file, checks it and unpacks it. Raises ToolchainError, after which the
    installation is unchanged."""
    folder = Path(request.folder)
    archive = Path(request.archive) if request.archive else None
    try:
        _sweep(folder)
        need = UNPACKED_BYTES + _SPARE_BYTES + (0 if archive else wheel.BYTES)
        free = shutil.disk_usage(folder).free
        if free < need:
            raise ToolchainError(
                f"{folder} does not have enough free space", found=f"{free >> 20} MiB free",
                expected=f"{need >> 20} MiB",
                hint="free some space, or set TILECORE_DATA_DIR to another directory",
            )  # fmt: skip
        if archive is None:
            archive = fetch(folder / "fetched", request.progress)
        else:
            check(archive, request.progress)
        installation = unpack(archive, folder, request.progress)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(folder) from None
        raise ToolchainError(f"{folder} cannot be written: {error.strerror or error}") from None
    if not request.archive:
        shutil.rmtree(folder / "fetched", ignore_errors=True)
    return os.fspath(installation)


def unpack(archive: Path, folder: Path, progress: Progress) -> Path:
    """Unpacks the needed files of the wheel to ``folder``. Raises ToolchainError or OSError."""
    installation = folder / wheel.FOLDER
    staging = Path(tempfile.mkdtemp(dir=folder, prefix=f".unpacking-{os.getpid()}-"))
    try:
        with zipfile.ZipFile(archive) as whole:
            members = [m for m in whole.infolist() if wheel.is_needed(m.filename) and not m.is_dir()]
            total, done, sizes = sum(m.file_size for m in members), 0, {}
            for member in members:
                whole.extract(member, staging)  # extract stays inside of the folder and checks the CRC
                sizes[member.filename] = member.file_size
                done += member.file_size
                progress(f"unpacking {wheel.FILE}", done, total)
        missing = [name for name in wheel.LIBRARIES if f"tpu_mlir/lib/{name}" not in sizes]
        if missing:
            raise ToolchainError(f"{archive.name} lacks {', '.join(missing)}", hint="download it again")
        (staging / MANIFEST).write_text(json.dumps(sizes))
        _put(staging, installation)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ToolchainError(f"{archive} is not a complete wheel: {error}", hint="download it again") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return installation


def _put(staging: Path, installation: Path) -> None:
    """Moves ``staging`` to ``installation``; an old installation is moved away first and removed."""
    if installation.exists():
        old = tempfile.mkdtemp(dir=installation.parent, prefix=f".unpacking-{os.getpid()}-")
        os.replace(installation, Path(old) / "old")
        os.replace(staging, installation)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.replace(staging, installation)


def _sweep(folder: Path) -> None:
    """Removes the temporary folders of installations that were killed."""
    for leftover in folder.glob(".unpacking-*"):
        process = leftover.name.split("-")[1]
        if process.isdigit() and not _is_running(int(process)):
            shutil.rmtree(leftover, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


INSTALLABLE = Installable(
    name=f"{wheel.NAME} {wheel.VERSION}",
    doc=f"SophGo's CModels (simulators of its chips), their runtimes and the headers of its SDK, from the wheel "
    f"{wheel.NAME} on PyPI, licence: {wheel.LICENCE}. Only those files are kept",
    download_bytes=wheel.BYTES,
    installed_bytes=UNPACKED_BYTES,
    installed=installed,
    install=install,
)
