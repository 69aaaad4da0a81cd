"""Defines the paths of the cache's files, and checks whether its directory can be trusted.

    <cache>/v1/entries/ab/cdef...    one file per kernel, see entry_format
    <cache>/v1/links/ab/cdef...      source key -> kernel key, a note each
    <cache>/v1/definitions/ab/...    what is known of a function's definition, a note each
    <cache>/v1/results/ab/...        what the autotuner found, a note each
    <cache>/v1/plugins/ab/...        what installed plugins say of themselves, a note each
    <cache>/v1/binaries/ab/...       what a device's own system compiled, see binaries
    <cache>/v1/staging/...           files being written; renamed into place when whole
    <cache>/v1/quarantine/...        damaged entries, a bounded number
    <cache>/v1/growth                one byte per page written since the last eviction
    <cache>/v1/searched              its time is that of the last search for old files

Directories are 0700 and files 0600. A directory that somebody else owns or could write to is refused, as what lies
in it is loaded into the process.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import TypeVar

from tilecore.errors import CacheError

_T = TypeVar("_T")

FORMAT = "v1"
KEY_LENGTH = 64
_HEX = "0123456789abcdef"
NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # opening a FIFO would wait for its other end
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Layout:
    """The paths of one cache directory; makes nothing by itself."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.base = os.path.join(root, FORMAT)
        self.entries = os.path.join(self.base, "entries")
        self.links = os.path.join(self.base, "links")
        self.definitions = os.path.join(self.base, "definitions")
        self.results = os.path.join(self.base, "results")
        self.plugins = os.path.join(self.base, "plugins")
        self.binaries = os.path.join(self.base, "binaries")
        self.staging = os.path.join(self.base, "staging")
        self.quarantine = os.path.join(self.base, "quarantine")
        self.growth = os.path.join(self.base, "growth")
        self.searched = os.path.join(self.base, "searched")

    def entry(self, key: str) -> str:
        return _place(self.entries, key)

    def link(self, source_key: str) -> str:
        return _place(self.links, source_key)

    def note(self, store: str, key: str) -> str:
        """A note of ``store``: "definitions", "results" or "plugins"."""
        return _place(os.path.join(self.base, store), key)

    @property
    def stores(self) -> tuple[str, ...]:
        """The directories that are counted and evicted from."""
        return self.entries, self.links, self.definitions, self.results, self.plugins, self.binaries

    def prepare(self) -> None:
        """Make the directories and check that nobody else can write to them; raises OSError (CacheError is one)."""
        os.makedirs(self.root, mode=0o700, exist_ok=True)
        require_private(self.root)
        for path in (self.base, *self.stores, self.staging, self.quarantine):
            try:
                os.mkdir(path, 0o700)
            except FileExistsError:
                require_private(path)


def _place(store: str, key: str) -> str:
    return f"{store}/{key[:2]}/{key[2:]}"


def is_key(key: object) -> bool:
    """Whether ``key`` is 64 lower-case hexadecimal digits."""
    return isinstance(key, str) and len(key) == KEY_LENGTH and not key.strip(_HEX)


def check_key(key: object) -> None:
    """Raises CacheError unless ``key`` is one."""
    if not is_key(key):
        raise CacheError("not a cache key", found=repr(key), expected=f"{KEY_LENGTH} hexadecimal digits")


def require_private(path: str) -> None:
    """Raises CacheError unless ``path`` is a directory that only this user can write to."""
    facts = os.stat(path)
    if not stat.S_ISDIR(facts.st_mode):
        raise CacheError(f"{path} is not a directory")
    if not hasattr(os, "geteuid"):
        return
    if facts.st_uid != os.geteuid():
        raise CacheError(f"{path} belongs to another user", found=f"user {facts.st_uid}", expected=f"{os.geteuid()}")
    if facts.st_mode & 0o022:
        raise CacheError(f"{path} can be written to by others", hint=f"chmod go-w {path}")


def is_other(path: str) -> bool:
    """Whether something is there, and it is no regular file."""
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def read_file(path: str, *, of_root: bool = False) -> tuple[bytes, os.stat_result]:
    """The whole of a regular file of this user that nobody else can write to; raises OSError (CacheError is one).

    of_root: whether the file may be root's instead. A file that another host of a network file system removes or
    replaces while it is read is opened once more.
    """
    try:
        return again_if_stale(lambda: _read_file(path, of_root))
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error


def again_if_stale(work: Callable[[], _T]) -> _T:
    """What ``work()`` returns; it is called once more where a network file system answers that its handle is stale."""
    try:
        return work()
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
    return work()


def is_trusted(facts: os.stat_result, *, of_root: bool) -> bool:
    """Whether this user (or root, with ``of_root``) owns a file or directory, and nobody else can write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return (facts.st_uid == os.geteuid() or (of_root and facts.st_uid == 0)) and not facts.st_mode & 0o022


def _read_file(path: str, of_root: bool) -> tuple[bytes, os.stat_result]:
    handle = os.open(path, os.O_RDONLY | _NO_FOLLOW | NO_WAIT)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise CacheError(f"{path} is not a file")
        if not is_trusted(facts, of_root=of_root):
            raise CacheError(f"{path} could have been written by others")
        data = os.read(handle, facts.st_size + 1)
        if len(data) == facts.st_size:
            return data, facts
        pieces = [data]
        while piece := os.read(handle, 1 << 20):
            pieces.append(piece)
        return b"".join(pieces), facts
    finally:
        os.close(handle)
