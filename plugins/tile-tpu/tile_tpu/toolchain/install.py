"""Installs the vendor's wheel, for ``tilecore toolchain install tpu``."""

from __future__ import annotations

import os
from pathlib import Path

from tile_tpu.toolchain.wheel import LICENCE, NAME, VERSION, WHEEL
from tilecore.contract.records import Installable, InstallRequest
from tilecore.wheels.install import install as install_wheels
from tilecore.wheels.install import installed_folder


def installed(folder: str) -> str:
    """The folder in which the wheel is unpacked, below tilecore's folder for the target; "" where it is not unpacked,
    or a file is missing."""
    return os.fspath(installed_folder(Path(folder), WHEEL) or "")


def install(request: InstallRequest) -> str:
    """Downloads the wheel or takes the user's file, checks it and unpacks it. Raises ToolchainError, after which the
    installation is unchanged."""
    (folder,) = install_wheels(request, [WHEEL])
    return os.fspath(folder)


INSTALLABLE = Installable(
    name=f"{NAME} {VERSION}",
    doc=f"SophGo's CModels (simulators of its chips), their runtimes and the headers of its SDK, from the wheel "
    f"{NAME} on PyPI, licence: {LICENCE}. Only those files are kept",
    download_bytes=WHEEL.file_bytes,
    installed_bytes=WHEEL.unpacked_bytes,
    installed=installed,
    install=install,
)
