"""Implements the cache on disk: content-addressed artifacts, and an index from source keys to their keys.

Whatever goes wrong with the disk, compilation goes on: reading becomes a miss, writing becomes nothing, and one
warning says why. What is read has been checked against its digests and its key before anything is made of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from tilecore import debug
from tilecore.compilation_cache import eviction
from tilecore.compilation_cache.binaries import binary_path, binary_paths, is_whole_binary
from tilecore.compilation_cache.entry_format import BadEntryError, decode, decode_note, encode, encode_note
from tilecore.compilation_cache.layout import Layout, again_if_stale, check_key, is_key, is_other, read_file
from tilecore.compilation_cache.publish import publish, remove_abandoned
from tilecore.compilation_cache.quarantine import quarantine, remove, set_aside
from tilecore.compilation_cache.warning import WarnOnce, warn
from tilecore.errors import CacheError

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.compilation_cache.folder_layer import FolderLayer

_T = TypeVar("_T")
Store = Literal["definitions", "results", "plugins"]
DEFAULT_LIMIT = 4 * 2**30


class DiskCache:
    """Artifacts in a directory, shared by any number of processes and threads.

    Parameters
    ----------
    path: the directory; made when it is missing. None: no directory can be had (every read is a miss).
    limit: most bytes to keep; the least recently used go first.
    reason: why ``path`` is None, for the warning.
    age: seconds after which files that nobody has used go, too; None: age alone removes nothing.
    layers: read-only cache directories, which are asked, in order, for what the directory itself does not have.

    No method raises on account of the disk. Keys are 64 hexadecimal digits; others raise CacheError.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        limit: int = DEFAULT_LIMIT,
        reason: str = "",
        age: float | None = None,
        layers: Sequence[FolderLayer] = (),
    ) -> None:
        self.path = None if path is None else os.fspath(path)
        self.limit = limit
        self.age = age
        self.layers = tuple(layers)
        self._layout = None if self.path is None else Layout(self.path)
        self._reason = reason
        self._usable: bool | None = None
        self._cleaned = False
        self._warn_once = WarnOnce()

    def get(self, key: str) -> Artifact | None:
        """The artifact of ``key``, or None; a damaged entry is quarantined and counts as missing."""
        check_key(key)
        layout = self._open()
        artifact = None if layout is None else self._read_entry(layout, key)
        return artifact or next((found for layer in self.layers if (found := layer.get(key)) is not None), None)

    def put(self, key: str, artifact: Artifact) -> bool:
        """Store ``artifact``, replacing an entry of the same key; True when it is on disk."""
        check_key(key)
        layout = self._open()
        if layout is None:
            return False
        try:
            data = encode(key, artifact)
        except (TypeError, ValueError, RecursionError) as error:
            warn(f"kernel {artifact.name} is not cached: its artifact is not plain data ({error})")
            return False
        return self._write(layout, layout.entry(key), data, durable=True)

    def discard(self, key: str, why: str) -> None:
        """Set the entry of ``key`` aside: it is whole, and no kernel can be made of it."""
        layout = self._open()
        if layout is not None and os.path.lexists(layout.entry(key)):
            set_aside(layout.entry(key), layout.quarantine)
            warn(f"an entry of the kernel cache that makes no kernel was set aside: {layout.entry(key)}: {why}")

    def resolve(self, source_key: str) -> str | None:
        """The key that ``source_key`` was linked to, or None."""
        check_key(source_key)
        layout = self._open()
        key = None if layout is None else self._read_note(layout, layout.link(source_key), source_key)
        if is_key(key):
            return key
        return next((found for layer in self.layers if (found := layer.resolve(source_key)) is not None), None)

    def link(self, source_key: str, key: str) -> bool:
        """Record that ``source_key`` stands for ``key``; True when it is on disk."""
        check_key(key)
        check_key(source_key)
        layout = self._open()
        return layout is not None and self._write_note(layout, layout.link(source_key), source_key, key)

    def note(self, store: Store, key: str) -> str | None:
        """The text that :meth:`keep_note` recorded under ``key``, or None."""
        check_key(key)
        layout = self._open()
        text = None if layout is None else self._read_note(layout, layout.note(store, key), key)
        if text is not None:
            return text
        return next((found for layer in self.layers if (found := layer.note(store, key)) is not None), None)

    def keep_note(self, store: Store, key: str, text: str) -> bool:
        """Record what is known of a function's definition, what the autotuner found, or what a plugin says of itself;
        ``key`` covers all that the text follows from. True when it is on disk."""
        check_key(key)
        layout = self._open()
        return layout is not None and self._write_note(layout, layout.note(store, key), key, text)

    def binary(self, key: str) -> str | None:
        """The path of the file that :meth:`keep_binary` stored under ``key``, or None. Damaged ones are set aside, and
        nothing is said: they cost what they spared."""
        check_key(key)
        layout = self._open()
        for path in [] if layout is None else binary_paths(layout, key):
            if is_whole_binary(path):
                with contextlib.suppress(OSError):  # evicted meanwhile: whoever opens it finds out
                    eviction.note_use(path, os.stat(path).st_mtime)
                return path
            self._set_binary_aside(path)
        return None

    def keep_binary(self, key: str, data: bytes) -> bool:
        """Store what the system of a device compiled, as a file that it opens by itself, in place of earlier ones of
        ``key``, which covers the device and its system, too. True when it is on disk; a failure is told to those who
        look (TILECORE_DEBUG), as nothing but time is lost."""
        check_key(key)
        layout = self._open()
        if layout is None:
            return False
        path = binary_path(layout, key, data)
        try:
            self._publish(layout, path, data, durable=False)
        except OSError as error:
            debug.say(debug.BACKEND, f"{path} is not written: {error.strerror or error}")
            return False
        for other in binary_paths(layout, key):
            if other != path:
                remove(other)
        return True

    def discard_binary(self, key: str) -> None:
        """Set the files of ``key`` aside: they are whole, and the system of the device makes nothing of them."""
        check_key(key)
        layout = self._open()
        for path in [] if layout is None else binary_paths(layout, key):
            self._set_binary_aside(path)

    def _set_binary_aside(self, path: str) -> None:
        if self._layout is not None:
            set_aside(path, self._layout.quarantine)
            debug.say(debug.BACKEND, f"{path} was set aside: it is damaged, or of no use to the system of its device")

    def _open(self) -> Layout | None:
        """The directory's layout, made and checked once; None (after one warning) when it cannot be used."""
        if self._usable is None:
            self._usable = self._try_open()
        return self._layout if self._usable else None

    def _try_open(self) -> bool:
        if self._layout is None:
            if self._reason:
                self._warn_once("open", f"compiled kernels are kept in memory only: {self._reason}")
            return False
        try:
            again_if_stale(self._layout.prepare)
            return True
        except OSError as error:
            hint = f" ({error.hint})" if isinstance(error, CacheError) and error.hint else ""
            self._warn_once(
                "open",
                f"compiled kernels are kept in memory only: {_reason(error)}{hint}; "
                "set TILECORE_CACHE_DIR to a directory of yours that only you can write to",
            )
            return False

    def _read_entry(self, layout: Layout, key: str) -> Artifact | None:
        return self._read_intact(layout, layout.entry(key), lambda data: decode(data, key), "entry")

    def _read_note(self, layout: Layout, path: str, key: str) -> str | None:
        return self._read_intact(layout, path, lambda data: decode_note(data, key), "note")

    def _read_intact(self, layout: Layout, path: str, decoder: Callable[[bytes], _T], title: str) -> _T | None:
        """What a file contains; None where it is missing or damaged. A damaged one is set aside."""
        problem: BadEntryError | None = None
        for _ in range(2):  # a network file system may show, for a moment, a part of what another host has written
            read = self._read(layout, path)
            if read is None:
                return None
            data, facts = read
            try:
                contents = decoder(data)
            except BadEntryError as error:
                problem = error
                continue
            eviction.note_use(path, facts.st_mtime)
            return contents
        quarantine(path, facts.st_ino, layout.quarantine)
        warn(f"a damaged {title} of the kernel cache was set aside and will be rebuilt: {path}: {problem}")
        return None

    def _read(self, layout: Layout, path: str) -> tuple[bytes, os.stat_result] | None:
        """A file of the cache, or None. What is no file (a FIFO, a link, a folder) is set aside."""
        try:
            return read_file(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            if is_other(path):
                set_aside(path, layout.quarantine)
                warn(f"an object that is not a file was moved out of the kernel cache: {path}")
            else:
                self._warn_reading(layout, error)
            return None

    def _write_note(self, layout: Layout, path: str, key: str, text: str) -> bool:
        # Not flushed: a note that a power cut damages fails its digest, and costs what it spared.
        return self._write(layout, path, encode_note(key, text), durable=False)

    def _write(self, layout: Layout, path: str, data: bytes, *, durable: bool) -> bool:
        try:
            self._publish(layout, path, data, durable=durable)
            return True
        except OSError as error:
            self._warn_once(
                "write",
                f"compiled kernels are not written to the cache in {layout.root}: {error.strerror or error}; "
                f"{_advice(error)}, or set TILECORE_CACHE_DIR to another directory",
            )
            return False

    def _publish(self, layout: Layout, path: str, data: bytes, *, durable: bool) -> None:
        """Write a file and keep the cache under its limit. Raises OSError."""
        is_first = not self._cleaned
        if is_first:
            self._cleaned = True
            remove_abandoned(layout.staging)
        try:
            publish(data, layout.staging, path, durable=durable)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ESTALE):
                raise
            layout.prepare()  # the cache was deleted under our feet, by this host or by another
            publish(data, layout.staging, path, durable=durable)
        is_aged = is_first and self.age is not None and eviction.is_due_by_age(layout, self.age)
        if is_aged or eviction.is_due(eviction.note_growth(layout, len(data)), self.limit):
            eviction.evict(layout, self.limit, self.age)
            remove_abandoned(layout.staging)

    def _warn_reading(self, layout: Layout, error: OSError) -> None:
        self._warn_once("read", f"the kernel cache in {layout.root} cannot be read: {_reason(error)}")


def _reason(error: OSError) -> str:
    if isinstance(error, CacheError):
        return error.message
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}"


def _advice(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        return "free some space or lower TILECORE_CACHE_SIZE"
    return "make it writable"
