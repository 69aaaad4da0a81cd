"""Lists the distributions on ``sys.path`` with their names, versions and entry points.

Folders are read here, because importing importlib.metadata costs more than reading them; importlib.metadata reads zip
archives and asks finders of other importers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

_SUFFIXES = (".dist-info", ".egg-info")
_STANDARD_FINDERS = ("PathFinder", "MetadataPathFinder")  # they search the folders of sys.path


class Folder:
    """A ``.dist-info`` or ``.egg-info`` folder."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read_text(self, name: str) -> str | None:
        """The text of a file in the folder, None where there is none. Raises OSError or UnicodeDecodeError."""
        try:
            with open(os.path.join(self.path, name), encoding="utf-8") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def name_and_version(self) -> tuple[str, str]:
        """Name and version from the headers of METADATA, else from the folder's name."""
        headers: dict[str, str] = {}
        try:
            text = self.read_text("METADATA") or self.read_text("PKG-INFO") or ""
        except (OSError, UnicodeDecodeError):
            text = ""
        for line in text.splitlines():
            if not line.strip():
                break
            key, colon, value = line.partition(":")
            if colon:
                headers.setdefault(key.strip().lower(), value.strip())
        name, version = _from_stem(os.path.basename(self.path))
        return headers.get("name") or name, headers.get("version") or version


class Foreign:
    """A distribution that importlib.metadata found."""

    def __init__(self, distribution: Any) -> None:
        self.distribution = distribution

    def read_text(self, name: str) -> str | None:
        text = self.distribution.read_text(name)
        return None if text is None else str(text)

    def name_and_version(self) -> tuple[str, str]:
        try:
            name, version = self.distribution.metadata["Name"], self.distribution.metadata["Version"]
            if name and version:
                return str(name), str(version)
        except Exception:  # finders may raise any exception
            pass
        return _from_stem(getattr(getattr(self.distribution, "_path", None), "name", ""))


def distributions() -> Iterator[Folder | Foreign]:
    """Every distribution, in the order of ``sys.path``; duplicates are included."""
    for entry in sys.path:
        try:
            names = sorted(name for name in os.listdir(entry or ".") if name.endswith(_SUFFIXES))
        except NotADirectoryError:
            yield from _foreign(path=[entry])
            continue
        except OSError:  # it does not exist or cannot be read
            continue
        for name in names:
            yield Folder(os.path.join(entry or ".", name))
    for finder in sys.meta_path:
        finder_name = getattr(finder, "__name__", type(finder).__name__)
        if hasattr(finder, "find_distributions") and finder_name not in _STANDARD_FINDERS:
            yield from _of_finder(finder)


def _foreign(**context: Any) -> Iterator[Foreign]:
    import importlib.metadata

    for distribution in importlib.metadata.distributions(**context):
        yield Foreign(distribution)


def _of_finder(finder: Any) -> Iterator[Foreign]:
    import importlib.metadata

    try:
        yield from map(Foreign, finder.find_distributions(importlib.metadata.DistributionFinder.Context()))
    except Exception:  # a broken finder hides only its own distributions
        return


def _from_stem(folder: str) -> tuple[str, str]:
    name, _, version = folder.rpartition(".")[0].partition("-")
    return name or "an unnamed package", version or "unknown"
