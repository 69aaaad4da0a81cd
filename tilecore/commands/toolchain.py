"""``tilecore toolchain install``: fetches what a target's toolchain needs, where its backend knows how to."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilecore import settings
from tilecore.commands.text import dump, note, size
from tilecore.contract.records import Backend, Installable, InstallRequest
from tilecore.errors import ToolchainError
from tilecore.plugins import manager


def run(arguments: Namespace) -> int:
    """Install it; exit code 1 when the user does not agree."""
    backend, _ = manager.resolve(arguments.target)
    offer = _offer(backend)
    folder = folder_of(backend.kind)
    installed_path = offer.installed(os.fspath(folder))
    if installed_path and not arguments.force:
        return _done(arguments, backend, offer, installed_path, "is installed already")
    if not arguments.json or not arguments.yes:
        _describe(offer, folder, arguments.archive)
    if not arguments.yes and not _agreed():
        print("nothing was installed")
        return 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    with _progress(quiet=arguments.json) as progress:
        installed_path = offer.install(InstallRequest(os.fspath(folder), _archive(arguments.archive), progress))
    return _done(arguments, backend, offer, installed_path, "is installed")


def folder_of(kind: str) -> Path:
    """Where tilecore keeps what it has installed for a target; raises ToolchainError when the user has no home."""
    root = settings.data_dir()
    if root is None:
        raise ToolchainError("no home directory is known", hint="set TILECORE_DATA_DIR to a directory of your own")
    return Path(root) / kind


def _offer(backend: Backend) -> Installable:
    offer = backend.toolchain.installable
    if offer is None:
        missing = [tool for tool in backend.toolchain.find() if not tool.present]
        raise ToolchainError(
            f'target "{backend.kind}" has nothing that tilecore can install',
            found=", ".join(f"{tool.name} is missing" for tool in missing) or "every tool that it looks for",
            hint="; ".join(dict.fromkeys(tool.fix for tool in missing if tool.fix)) or None,
        )
    return offer


def _archive(named: str | None) -> str:
    if not named:
        return ""
    path = Path(named).expanduser()
    if not path.is_file():
        raise ToolchainError(f"{path} is not a file", hint="--from names the archive itself, or leave it out")
    return os.fspath(path.resolve())


def _describe(offer: Installable, folder: Path, archive: str | None) -> None:
    out = sys.stderr if not sys.stdout.isatty() else sys.stdout
    print(f"{offer.name}: {offer.doc}", file=out)
    source = f"from {archive}" if archive else f"{size(offer.download_bytes)} to fetch"
    print(f"{source}, {size(offer.installed_bytes)} in {folder}", file=out)


def _agreed() -> bool:
    try:
        return input("install it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # nobody is there to ask
        note("problem", "there is no terminal to ask at", [("help", "--yes installs without asking")])
        return False


def _done(arguments: Namespace, backend: Backend, offer: Installable, where: str, outcome: str) -> int:
    if arguments.json:
        dump({"target": backend.kind, "name": offer.name, "path": where})
    else:
        print(f"{offer.name} {outcome}: {where}")
    return 0


def _unwritable(folder: Path, error: OSError) -> ToolchainError:
    return ToolchainError(
        f"{folder} cannot be created: {error.strerror or error}",
        hint="set TILECORE_DATA_DIR to a directory that you may write",
    )


@contextmanager
def _progress(quiet: bool) -> Any:
    """A function that shows (what, done, total): as a bar on a terminal, else a line for each thing that is done."""
    if quiet:
        yield lambda step, done, total: None
        return
    if not sys.stderr.isatty():
        printed_steps: set[str] = set()

        def line(step: str, done: int, total: int) -> None:
            if step not in printed_steps:
                printed_steps.add(step)
                print(step, file=sys.stderr)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def bar(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total or None)
            bars.update(tasks[step], completed=done, total=total or None)

        yield bar
