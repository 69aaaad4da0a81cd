"""The facts of a report that every backend gives: versions and the system."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import date
from importlib import metadata
from typing import Any


def general(packages: Sequence[str], target: str, execution_backends: Sequence[str]) -> dict[str, Any]:
    """Date, target, versions of the packages that are installed, Python, system. No names of users, machines or folders
    are in it."""
    return {
        "date": date.today().isoformat(),
        "target": target,
        "execution_backend": ", ".join(execution_backends),
        "packages": {name: version for name in packages if (version := version_of(name))},
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
    }


def version_of(package: str) -> str:
    """The version of an installed package; "" where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
