"""Installs wheels: unpacks the needed files of each to a temporary folder, which then replaces its installation."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from tilecore.contract.records import InstallRequest
from tilecore.errors import ToolchainError
from tilecore.wheels.fetch import Progress, check, disk_full, fetch, readable_digest
from tilecore.wheels.record import Wheel

MANIFEST = "installed.json"  # every file and its size
_FETCHED = "fetched"  # the folder of wheels that are downloaded
_SPARE_BYTES = 16 << 20


def installed_folder(folder: Path, wheel: Wheel) -> Path | None:
    """The folder in which the wheel is unpacked, below tilecore's ``folder`` for the target; None where it is not
    unpacked, or a file of it is missing or has another size."""
    installation = folder / wheel.folder
    try:
        sizes = json.loads((installation / MANIFEST).read_text())
        whole = all((installation / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return None
    return installation if whole else None


def install(request: InstallRequest, wheels: Sequence[Wheel]) -> list[Path]:
    """Downloads the wheels or takes the user's files, checks and unpacks them; returns their folders.

    ``request.archive`` is one of the wheels; the others are beside it, or installed already. Raises ToolchainError,
    after which each wheel is installed as it was before, or completely.
    """
    folder = Path(request.folder)
    try:
        _sweep(folder)
        archives = _beside(Path(request.archive), folder, wheels, request.progress) if request.archive else {}
        _need_space(folder, wheels, fetches=not request.archive)
        folders = []
        for wheel in wheels:
            if request.archive and wheel not in archives:
                folders.append(folder / wheel.folder)
                continue
            archive = archives.get(wheel) or fetch(wheel, folder / _FETCHED, request.progress)
            folders.append(unpack(wheel, archive, folder, request.progress))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(folder) from None
        raise ToolchainError(f"{folder} cannot be written: {error.strerror or error}") from None
    if not request.archive:
        shutil.rmtree(folder / _FETCHED, ignore_errors=True)
    return folders


def _beside(archive: Path, folder: Path, wheels: Sequence[Wheel], progress: Progress) -> dict[Wheel, Path]:
    """The files of the wheels: the user's, and those beside it. Wheels that are installed need no file."""
    if len(wheels) == 1:
        check(wheels[0], archive, progress)
        return {wheels[0]: archive}
    actual = readable_digest(archive, progress)
    chosen = next((wheel for wheel in wheels if wheel.sha256 == actual), None)
    if chosen is None:
        raise ToolchainError(
            f"{archive.name} is none of the files that are needed",
            found=f"sha256 {actual}, {archive.stat().st_size} bytes",
            expected="; ".join(f"{wheel.file}, sha256 {wheel.sha256}" for wheel in wheels),
            hint="the file is damaged, or another file: download it again",
        )
    archives = {chosen: archive}
    for wheel in wheels:
        path = archive.with_name(wheel.file)
        if wheel is chosen:
            continue
        if path.is_file():
            check(wheel, path, progress)
            archives[wheel] = path
        elif installed_folder(folder, wheel) is None:
            raise ToolchainError(
                f"{wheel.file} is needed, too",
                found=f"no such file in {archive.parent}",
                hint=f"download it to that folder: {' '.join(['pip', *wheel.pip_arguments])}",
            )
    return archives


def _need_space(folder: Path, wheels: Sequence[Wheel], fetches: bool) -> None:
    need = _SPARE_BYTES + sum(wheel.unpacked_bytes + fetches * wheel.file_bytes for wheel in wheels)
    free = shutil.disk_usage(folder).free
    if free < need:
        raise ToolchainError(
            f"{folder} does not have enough free space", found=f"{free >> 20} MiB free", expected=f"{need >> 20} MiB",
            hint="free some space, or set TILECORE_DATA_DIR to another directory",
        )  # fmt: skip


def unpack(wheel: Wheel, archive: Path, folder: Path, progress: Progress) -> Path:
    """Unpacks the needed files of the wheel to ``folder``. Raises ToolchainError or OSError."""
    installation = folder / wheel.folder
    staging = Path(tempfile.mkdtemp(dir=folder, prefix=f".unpacking-{os.getpid()}-"))
    try:
        with zipfile.ZipFile(archive) as whole:
            members = [m for m in whole.infolist() if wheel.is_needed(m.filename) and not m.is_dir()]
            total, done, sizes = sum(m.file_size for m in members), 0, {}
            for member in members:
                whole.extract(member, staging)  # extract stays inside of the folder and checks the CRC
                sizes[member.filename] = member.file_size
                done += member.file_size
                progress(f"unpacking {wheel.file}", done, total)
        missing = [name for name in wheel.required if name not in sizes]
        if missing:
            raise ToolchainError(f"{archive.name} lacks {', '.join(missing)}", hint="download it again")
        for name in wheel.executables:
            (staging / name).chmod(0o755)
        (staging / MANIFEST).write_text(json.dumps(sizes))
        _put(staging, installation)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ToolchainError(f"{archive} is not a complete wheel: {error}", hint="download it again") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return installation


def _put(staging: Path, installation: Path) -> None:
    """Moves ``staging`` to ``installation``; an old installation is moved away first and removed."""
    staging.chmod(0o755)  # temporary folders are their owner's alone
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
