"""Downloads the vendor's wheel with pip, and checks that a file is this wheel."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tile_tpu.toolchain import wheel
from tilecore import debug
from tilecore.errors import ToolchainError

Progress = Callable[[str, int, int], None]
_OFFLINE = re.compile(
    "NewConnectionError|Name or service not known|Temporary failure in name resolution|Max retries exceeded"
    "|Network is unreachable|timed out|ProxyError|ConnectionError|Connection refused",
    re.IGNORECASE,
)
_BY_HAND = f"download {wheel.FILE} by other means and pass its path with --from"
_CHUNK = 4 << 20


def fetch(folder: Path, progress: Progress) -> Path:
    """The wheel in ``folder``, which is downloaded unless a complete one is there. Raises ToolchainError.

    pip 25.1 and newer resume a download after the connection breaks; older versions restart it. A complete wheel is
    kept in ``folder``, and in pip's cache, until it is unpacked. The file gets its final name after its digest is
    checked.
    """
    whole = folder / wheel.FILE
    if whole.is_file() and digest(whole, lambda *_: None) == wheel.SHA256:
        return whole
    if importlib.util.find_spec("pip") is None:
        raise ToolchainError(
            f"{wheel.FILE} is downloaded with pip, which this Python does not have",
            found=sys.executable,
            expected="a Python with pip",
            hint=f"run python -m ensurepip, or {_BY_HAND}",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as staging:
        output, code = _pip(Path(staging), progress)
        part = Path(staging, "out", wheel.FILE)
        if code or not part.is_file():
            raise _failed(output, code)
        check(part, progress)
        os.replace(part, whole)
    return whole


def _pip(folder: Path, progress: Progress) -> tuple[str, int]:
    """Runs pip, and reports progress by the size of its files. Returns (its output, its exit code)."""
    temporary = folder / "tmp"
    temporary.mkdir()
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--python-version", "3.10", "--only-binary=:all:",
        "--progress-bar", "off", "--disable-pip-version-check", "--no-input", "-d", os.fspath(folder / "out"),
        f"{wheel.NAME}=={wheel.VERSION}",
    ]  # fmt: skip
    debug.command(" ".join(command))
    env = {"PIP_RETRIES": "10", "PIP_RESUME_RETRIES": "50", **os.environ, "TMPDIR": os.fspath(temporary)}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env)
        try:
            while True:
                progress(f"fetching {wheel.FILE}", min(_bytes_in(folder), wheel.BYTES), wheel.BYTES)
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


def _failed(output: str, code: int) -> ToolchainError:
    last = "\n".join(line for line in output.strip().splitlines()[-4:])
    if "No space left on device" in output:
        return disk_full(None)
    if _OFFLINE.search(output):
        return ToolchainError(
            f"{wheel.FILE} cannot be downloaded: pip does not reach its index", found=last,
            hint=f"check the network and pip's settings (pip config list), or {_BY_HAND}",
        )  # fmt: skip
    return ToolchainError(f"pip cannot download {wheel.FILE}", found=f"exit code {code}: {last}", hint=_BY_HAND)


def disk_full(path: Path | None) -> ToolchainError:
    """The error for a disk without space for the wheel or its files."""
    return ToolchainError(
        "the disk is full" + (f": {path}" if path else ""),
        hint="free some space, or set TILECORE_DATA_DIR to another directory",
    )


def check(path: Path, progress: Progress) -> None:
    """Raises ToolchainError where a file is not the published wheel."""
    try:
        actual = digest(path, progress)
    except OSError as error:
        raise ToolchainError(f"{path} cannot be read: {error.strerror or error}") from None
    if actual != wheel.SHA256:
        raise ToolchainError(
            f"{path.name} is not {wheel.FILE} as it was published",
            found=f"sha256 {actual}, {path.stat().st_size} bytes",
            expected=f"sha256 {wheel.SHA256}, {wheel.BYTES} bytes",
            hint="the file is damaged, or another file: download it again",
        )


def digest(path: Path, progress: Progress) -> str:
    """The SHA-256 digest of a file."""
    sha256, done, total = hashlib.sha256(), 0, path.stat().st_size
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK):
            sha256.update(piece)
            done += len(piece)
            progress(f"checking {path.name}", done, total)
    return sha256.hexdigest()
