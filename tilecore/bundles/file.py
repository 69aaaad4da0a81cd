"""Opens a bundle and reads its kernels, each when it is asked for. Every byte is checked before use."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import threading
import zlib
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256

from tilecore.artifact.check import require_sound
from tilecore.artifact.packing import defer_source
from tilecore.artifact.records import Artifact
from tilecore.bundles.format import (
    LARGEST_INDEX,
    LONGEST_LINE,
    BundleError,
    Index,
    KernelRecord,
    Member,
    decode_index,
    read_first_line,
)
from tilecore.compilation_cache.entry_format import is_entry

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class BundleFile:
    """An open bundle. Members are read by position, so threads and forked processes share the open file.

    path: its absolute path. facts: its owner, mode and size. first_line, signature: the two lines in front of the
    index, without their ends. Raises BundleError, which names the file.

    The file is not mapped into memory: one that is cut short, or that a network file system loses, would end the
    process instead of raising an error.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        self._lock = threading.Lock()
        self._position = threading.Lock()
        self._descriptor = -1
        try:
            self._open()
            self.first_line, self.signature, self._index, self._start = self._read_front()
            self._identity = self.first_line
        except BundleError as error:
            self.close()
            raise self._named(error) from None
        except OSError as error:
            self.close()
            raise BundleError(f"{self.path} cannot be read: {error.strerror or error}") from error

    @cached_property
    def index(self) -> Index:
        """What the bundle contains. Raises BundleError."""
        try:
            return decode_index(self._index, max(self.facts.st_size - self._start, 0))
        except BundleError as error:
            raise self._named(error) from None

    def artifact(self, kernel: KernelRecord) -> Artifact:
        """The kernel's artifact, checked; its source is read when it is used. Raises BundleError."""
        try:
            facts = json.loads(self._member(kernel.record))
            artifact = Artifact.from_json(facts, "", self._member(kernel.binary))
            require_sound(artifact)
        except BundleError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
            raise self._named(
                BundleError(f"its record of {kernel.label} cannot be understood ({type(error).__name__}: {error})")
            ) from error
        if (artifact.target, artifact.adapter) != (kernel.target, kernel.adapter):
            raise self._named(BundleError(f"its record of {kernel.label} is for another target than its index says"))
        defer_source(artifact, lambda: self._source(kernel))
        return artifact

    def verify(self) -> None:
        """Read and check every byte. Raises BundleError."""
        for kernel in self.index.kernels:
            self.artifact(kernel)
            self._source(kernel)
        others = self.facts.st_size - self._start - self._bytes_of_members()
        if others:
            raise self._named(
                BundleError(
                    "it has bytes that belong to no kernel",
                    found=f"{others} of its {self.facts.st_size} bytes",
                    expected="the bytes that `tilecore compile` wrote, and no more",
                    hint="get it again, or compile it again",
                )
            )

    def _bytes_of_members(self) -> int:
        """How many bytes the members have together, which may share some."""
        kernels = self.index.kernels
        members = {member for kernel in kernels for member in (kernel.record, kernel.source, kernel.binary)}
        count = end = 0
        for begin, stop in sorted((member.offset, member.offset + member.size) for member in members):
            count += max(stop - max(begin, end), 0)
            end = max(end, stop)
        return count

    def close(self) -> None:
        """Close the file. Kernels that are loaded stay usable."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at the end of a process, os is gone
        descriptor = getattr(self, "_descriptor", -1)
        if descriptor >= 0:
            close(descriptor)

    def _source(self, kernel: KernelRecord) -> str:
        try:
            return zlib.decompress(self._member(kernel.source)).decode("utf-8")
        except (zlib.error, ValueError) as error:
            raise self._named(BundleError(f"its source of {kernel.label} cannot be unpacked: {error}")) from error

    def _open(self) -> None:
        self._descriptor = os.open(self.path, _FLAGS)
        self.facts = os.fstat(self._descriptor)
        if stat.S_ISDIR(self.facts.st_mode):
            raise BundleError("it is a directory", expected="a file that `tilecore compile` wrote")
        if not stat.S_ISREG(self.facts.st_mode):
            raise BundleError("it is a pipe or a device", expected="a file that `tilecore compile` wrote")

    def _read_front(self) -> tuple[bytes, bytes, bytes, int]:
        """The first two lines, the index, and where the members begin."""
        front = self._piece(0, 2 * LONGEST_LINE)
        if is_entry(front):
            raise BundleError(
                "it is not a bundle",
                found="a file with one kernel, as kernel.export() writes it",
                expected="a file with many kernels, as `tilecore compile` writes it",
                hint=f"tilecore.load_kernel({self.path!r}) loads the kernel",
            )
        lines = front.split(b"\n", 2)
        size, digest = read_first_line(lines[0])
        if len(lines) < 3:
            raise BundleError("it ends too early, or its first lines are damaged")
        begin = len(lines[0]) + len(lines[1]) + 2
        if size > min(LARGEST_INDEX, self.facts.st_size - begin):
            raise BundleError(f"it ends too early: its index has {size} bytes, and the file {self.facts.st_size}")
        index = self._read(begin, size)
        if sha256(index).hexdigest() != digest:
            raise BundleError("it is damaged: its index does not match its digest")
        return lines[0], lines[1], index, begin + size

    def _member(self, member: Member) -> bytes:
        try:
            data = self._read(self._start + member.offset, member.size)
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise self._named(BundleError(f"it cannot be read: {error.strerror or error}")) from error
            data = self._read_again(member)
        if sha256(data).hexdigest() != member.digest:
            raise self._named(BundleError("it is damaged: a kernel does not match its digest"))
        return data

    def _read_again(self, member: Member) -> bytes:
        """The member, from the file that another host of a network file system has put in place, if it is the same."""
        try:
            with self._lock:
                self.close()
                self._open()
                if self._read_front()[0] != self._identity:
                    raise BundleError("it was replaced while it was in use", hint="load it again")
            return self._read(self._start + member.offset, member.size)
        except BundleError as error:
            raise self._named(error) from None
        except OSError as error:
            raise self._named(BundleError(f"it cannot be read: {error.strerror or error}")) from error

    def _read(self, offset: int, size: int) -> bytes:
        if self._descriptor < 0:
            raise self._named(BundleError("it is closed", hint="open it again by tilecore.load_bundle"))
        pieces = []
        while size > 0:
            piece = self._piece(offset, size)
            if not piece:
                raise self._named(BundleError("it ends too early"))
            pieces.append(piece)
            offset += len(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _named(self, error: BundleError) -> BundleError:
        """The error with the file's name in its message."""
        if not error.message.startswith(self.path):
            what = error.message.removeprefix("it ")
            error.message = f"{self.path}: {error.message}" if what == error.message else f"{self.path} {what}"
            error.args = (error.message,)
        return error

    def _piece(self, offset: int, size: int) -> bytes:
        """At most ``size`` bytes from ``offset`` on, as many as one read gives."""
        if sys.platform != "win32":
            return os.pread(self._descriptor, size, offset)
        with self._position:  # reads move the position of the file, which threads share
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            return os.read(self._descriptor, size)
