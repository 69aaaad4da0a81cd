"""Fetching the vendor's wheel by pip, and telling whether a file is it."""

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
_BY_HAND = f"fetch {wheel.FILE} by other means and name it with --from"
_CHUNK = 4 << 20


def fetch(folder: Path, progress: Progress) -> Path:
    """The wheel in ``folder``, fetched unless it is there whole already; raises ToolchainError.

    A connection that breaks is taken up again where it broke (pip 25.1 and newer; older ones begin anew). A wheel that
    has come whole is kept until it is unpacked, in ``folder`` and by pip in its own cache. A file gets its name only
    when its digest is right.
    """
    whole = folder / wheel.FILE
    if whole.is_file() and digest(whole, lambda *_: None) == wheel.SHA256:
        return whole
    if importlib.util.find_spec("pip") is None:
        raise ToolchainError(
            f"{wheel.FILE} is fetched by pip, which this Python does not have",
            found=sys.executable,
            hint=f"python -m ensurepip, or {_BY_HAND}",
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
    """Run pip, and tell how far it is by the size of its files. (what it said, its code)"""
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
            f"{wheel.FILE} cannot be fetched: pip does not reach its index", found=last,
            hint=f"look at the network and at pip's settings (pip config list), or {_BY_HAND}",
        )  # fmt: skip
    return ToolchainError(f"pip cannot fetch {wheel.FILE}", found=f"code {code}: {last}", hint=_BY_HAND)


def disk_full(path: Path | None) -> ToolchainError:
    """There is no room for the wheel or for what it holds."""
    return ToolchainError(
        "the disk is full" + (f": {path}" if path else ""),
        hint="free some space, or set TILECORE_DATA_DIR to another directory",
    )


def check(path: Path, progress: Progress) -> None:
    """Raises ToolchainError when a file is not the wheel that we know."""
    try:
        actual = digest(path, progress)
    except OSError as error:
        raise ToolchainError(f"{path} cannot be read: {error.strerror or error}") from None
    if actual != wheel.SHA256:
        raise ToolchainError(
            f"{path.name} is not {wheel.FILE} as it was published",
            found=f"sha256 {actual}, {path.stat().st_size} bytes",
            expected=f"sha256 {wheel.SHA256}, {wheel.BYTES} bytes",
            hint="the file is damaged, or another file: fetch it again",
        )


def digest(path: Path, progress: Progress) -> str:
    """SHA-256 of a file."""
    sha256, done, total = hashlib.sha256(), 0, path.stat().st_size
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK):
            sha256.update(piece)
            done += len(piece)
            progress(f"checking {path.name}", done, total)
    return sha256.hexdigest()
