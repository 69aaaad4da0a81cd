"""Downloads a wheel with pip, and checks that a file is the wheel that was published."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tilecore import debug
from tilecore.errors import ToolchainError
from tilecore.wheels.record import Wheel

Progress = Callable[[str, int, int], None]
_OFFLINE = re.compile(
    "NewConnectionError|Name or service not known|Temporary failure in name resolution|Max retries exceeded"
    "|Network is unreachable|timed out|ProxyError|ConnectionError|Connection refused",
    re.IGNORECASE,
)
_CHUNK = 4 << 20


def by_hand(wheel: Wheel) -> str:
    """A hint: how to install the wheel where pip cannot download it."""
    command = " ".join(["pip", *wheel.pip_arguments])
    return f"download {wheel.file} by other means ({command}) and pass its path with --from"


def fetch(wheel: Wheel, folder: Path, progress: Progress) -> Path:
    """The wheel in ``folder``, which is downloaded unless a complete one is there. Raises ToolchainError.

    pip 25.1 and newer resume a download after the connection breaks; older versions restart it. A complete wheel is
    kept in ``folder``, and in pip's cache, until it is unpacked. The file gets its final name after its digest is
    checked.
    """
    whole = folder / wheel.file
    if whole.is_file() and digest(whole, lambda *_: None) == wheel.sha256:
        return whole
    if not _has_pip():
        raise ToolchainError(
            f"{wheel.file} is downloaded with pip, which this Python does not have",
            found=sys.executable,
            expected="a Python with pip",
            hint=f"run python -m ensurepip, or {by_hand(wheel)}",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as staging:
        output, code = _pip(wheel, Path(staging), progress)
        part = Path(staging, "out", wheel.file)
        if code or not part.is_file():
            raise _failed(wheel, output, code)
        check(wheel, part, progress)
        os.replace(part, whole)
    return whole


def _has_pip() -> bool:
    """Whether this Python has pip.

    It is looked for on the path alone: importlib.util.find_spec("pip") makes setuptools hand out the distutils of
    Python's own library from then on (_distutils_hack, before Python 3.12), and refuse those who ask for its own, such
    as torch's Inductor.
    """
    return importlib.machinery.PathFinder.find_spec("pip") is not None


def _pip(wheel: Wheel, folder: Path, progress: Progress) -> tuple[str, int]:
    """Runs pip, and reports progress by the size of its files. Returns (its output, its exit code)."""
    temporary = folder / "tmp"
    temporary.mkdir()
    command = [
        sys.executable, "-m", "pip", *wheel.pip_arguments, "--progress-bar", "off", "--disable-pip-version-check",
        "--no-input", "-d", os.fspath(folder / "out"),
    ]  # fmt: skip
    debug.command(" ".join(command))
    env = {"PIP_RETRIES": "10", "PIP_RESUME_RETRIES": "50", **os.environ, "TMPDIR": os.fspath(temporary)}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env)
        try:
            while True:
                progress(f"fetching {wheel.file}", min(_bytes_in(folder), wheel.file_bytes), wheel.file_bytes)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.3)
                    break
        except BaseException:
            process.kill()
            process.wait()
            raise
        output.seek(0)
        return output.read().decode(errors="replace"), process.returncode


def _bytes_in(folder: Path) -> int:
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # pip moves its files about
                total += os.stat(os.path.join(base, name)).st_size
    return total


def _failed(wheel: Wheel, output: str, code: int) -> ToolchainError:
    last = "\n".join(line for line in output.strip().splitlines()[-4:])
    if "No space left on device" in output:
        return disk_full(None)
    if _OFFLINE.search(output):
        return ToolchainError(
            f"{wheel.file} cannot be downloaded: pip does not reach its index", found=last,
            hint=f"check the network and pip's settings (pip config list), or {by_hand(wheel)}",
        )  # fmt: skip
    return ToolchainError(
        f"pip cannot download {wheel.file}", found=f"exit code {code}: {last}", hint=by_hand(wheel)
    )  # fmt: skip


def disk_full(path: Path | None) -> ToolchainError:
    """The error for a disk without space for a wheel or its files."""
    return ToolchainError(
        "the disk is full" + (f": {path}" if path else ""),
        hint="free some space, or set TILECORE_DATA_DIR to another directory",
    )


def check(wheel: Wheel, path: Path, progress: Progress) -> None:
    """Raises ToolchainError where a file is not the published wheel."""
    actual = readable_digest(path, progress)
    if actual != wheel.sha256:
        raise ToolchainError(
            f"{path.name} is not {wheel.file} as it was published",
            found=f"sha256 {actual}, {path.stat().st_size} bytes",
            expected=f"sha256 {wheel.sha256}, {wheel.file_bytes} bytes",
            hint="the file is damaged, or another file: download it again",
        )


def readable_digest(path: Path, progress: Progress) -> str:
    """The SHA-256 digest of a file of the user; raises ToolchainError where it cannot be read."""
    try:
        return digest(path, progress)
    except OSError as error:
        raise ToolchainError(f"{path} cannot be read: {error.strerror or error}") from None


def digest(path: Path, progress: Progress) -> str:
    """The SHA-256 digest of a file."""
    sha256, done, total = hashlib.sha256(), 0, path.stat().st_size
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK):
            sha256.update(piece)
            done += len(piece)
            progress(f"checking {path.name}", done, total)
    return sha256.hexdigest()
