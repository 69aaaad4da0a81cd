"""Reads a cache directory as a layer: read only, under the user's own cache, written by root or by the same user."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tilecore.compilation_cache.entry_format import BadEntryError, decode, decode_note
from tilecore.compilation_cache.layout import Layout, is_key, is_trusted, read_file
from tilecore.compilation_cache.owners import why_not_trusted
from tilecore.compilation_cache.warning import WarnOnce

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact

_T = TypeVar("_T")
BUNDLE = ".tcb"  # the extension of bundles


class FolderLayer:
    """A directory with the files of a cache (``TILECORE_CACHE_DIR`` of the program that wrote it).

    Nothing is written to it, and a damaged file stays where it is. No method raises on account of the disk: what
    cannot be read is missing, and one warning says why.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._layout = Layout(path)
        self._usable: bool | None = None
        self._warn_once = WarnOnce()

    def get(self, key: str) -> Artifact | None:
        """The artifact of ``key``, or None."""
        return self._read(self._layout.entry(key), lambda data: decode(data, key))

    def resolve(self, source_key: str) -> str | None:
        """The key that ``source_key`` was linked to, or None."""
        key = self._read(self._layout.link(source_key), lambda data: decode_note(data, source_key))
        return key if is_key(key) else None

    def note(self, store: str, key: str) -> str | None:
        """The text of a note of ``store``, or None."""
        return self._read(self._layout.note(store, key), lambda data: decode_note(data, key))

    def _read(self, path: str, decoder: Callable[[bytes], _T]) -> _T | None:
        if self._usable is None:
            self._usable = self._may_be_used()
        if not self._usable:
            return None
        try:
            return decoder(read_file(path, of_root=True)[0])
        except FileNotFoundError:
            return None
        except BadEntryError as error:
            self._warn_once(
                "damaged",
                f"a file of the cache layer {self.path} is damaged and not used: {path}: {error}; write it again",
            )
        except OSError as error:
            self._warn_once("read", f"the cache layer {self.path} cannot be read: {error}")
        return None

    def _may_be_used(self) -> bool:
        """Whether there is a cache, and it is trusted; one warning says why not."""
        problem = self.problem()
        if problem:
            self._warn_once("open", f"the cache layer {self.path} of TILECORE_CACHE_PATH is not used: {problem}")
        return not problem and os.path.isdir(self._layout.base)

    def problem(self) -> str:
        """Why the directory is not used; "" where it is, or where it has bundles in place of a cache."""
        try:
            if not os.path.lexists(self.path):
                return "it does not exist"
            if not os.path.lexists(self._layout.base) and os.path.isdir(self.path):
                has_bundles = any(name.endswith(BUNDLE) for name in os.listdir(self.path))
                return "" if has_bundles else f"it has no bundles (*{BUNDLE}) and no kernels of a cache"
            for path in (self.path, self._layout.base):
                facts = os.stat(path)
                if not stat.S_ISDIR(facts.st_mode):
                    return f"{path} is not a directory"
                if not is_trusted(facts, of_root=True):
                    return why_not_trusted(path, facts)
        except OSError as error:
            return f"{error.filename or self.path} cannot be read: {error.strerror or error}"
        return ""
