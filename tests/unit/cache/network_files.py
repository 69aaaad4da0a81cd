"""A network file system, as far as the cache can tell: several hosts see one directory, each with a delay.

``Share`` is what the server has, in a real directory. ``Host`` stands for the module ``os`` of one host. A host sees
its own changes at once, and those of others after ``look()``: until then a file that another host has replaced is
the old one, one that it has made is missing, and one that it has removed is still in the listing, though opening it
says that the handle is stale. There are no locks and no hard links. A file that was renamed before it was closed shows
to others the part that was written to the server: nothing.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tilecore.compilation_cache import (
    admin,
    binaries,
    disk,
    entry_format,
    eviction,
    folder_layer,
    layout,
    publish,
    quarantine,
)

MODULES = [admin, binaries, disk, entry_format, eviction, folder_layer, layout, publish, quarantine]


def stale(path: object) -> OSError:
    return OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))


class Share:
    """The server's directory, and where it keeps what hosts still see of earlier times."""

    def __init__(self, root: str, attic: str) -> None:
        self.root = root
        self.attic = attic
        self.hosts: list[Host] = []
        os.makedirs(attic)

    def keep(self, path: str) -> str:
        """A copy of a file as it is, for hosts that have not looked since; "" where there is none."""
        if not os.path.isfile(path):
            return ""
        kept = os.path.join(self.attic, str(len(os.listdir(self.attic))))
        with open(path, "rb") as file, open(kept, "wb") as copy:
            copy.write(file.read())
        os.chmod(kept, 0o600)
        os.utime(kept, (os.stat(path).st_atime, os.stat(path).st_mtime))
        return kept

    def changed(self, path: str, by: Host, before: str) -> None:
        """Tell the other hosts, which find out when they look."""
        for host in self.hosts:
            if host is not by:
                host.old.setdefault(path, before)


class Host:
    """The module ``os`` of one host. faults: the probability that a call fails, as those of a server that restarts."""

    def __init__(self, share: Share, seed: int, faults: float = 0.0) -> None:
        self.share = share
        self.old: dict[str, str] = {}  # by path: the file that this host still sees, "" for none
        self.written: dict[int, bytearray] = {}  # by descriptor: what is not sent to the server yet
        self.paths: dict[int, str] = {}
        self.random = random.Random(seed)
        self.faults = faults
        share.hosts.append(self)

    def look(self) -> None:
        """See what the others have done."""
        self.old.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _fail(self, path: object) -> None:
        if self.random.random() < self.faults:
            raise stale(path)

    def _seen(self, path: str) -> str:
        """The real path of what this host sees. Raises OSError where it sees nothing, or something that is gone."""
        self._fail(path)
        if path not in self.old:
            return path
        kept = self.old[path]
        if not kept:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if not os.path.lexists(path):
            del self.old[path]  # the server says so, and the next look is right
            raise stale(path)
        return kept

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            self._fail(path)
            descriptor = os.open(path, flags, mode)
            self.written[descriptor] = bytearray()
            self.paths[descriptor] = path
            return descriptor
        return os.open(self._seen(path), flags, mode)

    def write(self, descriptor: int, data: Any) -> int:
        self._fail(descriptor)
        self.written[descriptor] += bytes(data)
        return len(data)

    def fsync(self, descriptor: int) -> None:
        self._fail(descriptor)
        if self.written.get(descriptor):
            data, self.written[descriptor] = self.written[descriptor], bytearray()
            os.write(descriptor, data)

    def close(self, descriptor: int) -> None:
        try:
            if self.written.get(descriptor):
                os.write(descriptor, self.written[descriptor])
        finally:
            self.written.pop(descriptor, None)
            self.paths.pop(descriptor, None)
            os.close(descriptor)

    def fstat(self, descriptor: int) -> os.stat_result:
        self._fail(descriptor)
        return os.fstat(descriptor)

    def read(self, descriptor: int, size: int) -> bytes:
        self._fail(descriptor)
        return os.read(descriptor, size)

    def stat(self, path: str, **options: Any) -> os.stat_result:
        return os.stat(self._seen(path), **options)

    def lstat(self, path: str) -> os.stat_result:
        return os.lstat(self._seen(path))

    def replace(self, source: str, target: str) -> None:
        self._fail(source)
        before = self.share.keep(target)
        os.replace(source, target)
        self.share.changed(target, self, before)
        self.share.changed(source, self, "")
        self.old.pop(target, None)

    def unlink(self, path: str) -> None:
        self._fail(path)
        before = self.share.keep(path)
        os.unlink(path)
        self.share.changed(path, self, before)
        self.old.pop(path, None)

    def utime(self, path: str, times: Any = None) -> None:
        os.utime(self._seen(path), times)

    def truncate(self, path: str, size: int) -> None:
        self._fail(path)
        os.truncate(path, size)

    def mkdir(self, path: str, mode: int = 0o777) -> None:
        self._fail(path)
        os.mkdir(path, mode)

    def makedirs(self, path: str, mode: int = 0o777, exist_ok: bool = False) -> None:
        self._fail(path)
        os.makedirs(path, mode, exist_ok)

    def scandir(self, path: str) -> Any:
        self._fail(path)
        return os.scandir(path)

    def link(self, *arguments: Any, **options: Any) -> None:
        raise OSError(errno.EPERM, "there are no hard links")


def no_lock(handle: object, operation: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


@contextmanager
def on(host: Host) -> Iterator[None]:
    """Inside, the cache runs on this host."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES:
            if hasattr(module, "os"):
                patch.setattr(module, "os", host)
        patch.setattr(publish, "fcntl", SimpleNamespace(flock=no_lock, LOCK_EX=2, LOCK_NB=4))
        yield
