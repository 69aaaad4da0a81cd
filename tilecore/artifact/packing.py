"""Keeps the texts of old artifacts compressed in memory.

A kernel's source, binary and report are needed when it is built, loaded and stored, and rarely later; they are four
fifths of the memory of a kernel that is kept. So a process that has many kernels compresses those of all but the
last ones, GROUP at a time, since kernels of one program resemble each other: 36 KB become 9 alone, and 1.3 in a group.
Reading one of the three fields of a packed artifact decompresses its group: some milliseconds, tens for long sources.
"""

from __future__ import annotations

import functools
import pickle
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact

UNPACKED = 64  # artifacts that stay as they are
GROUP = 32  # artifacts that are compressed together
FIELDS = ("source", "binary", "report")
_PACKED = "_packed"  # of an artifact: its group, and its number there

_recent: list[weakref.ref[Artifact]] = []
_lock = threading.Lock()


class _Group:
    """The compressed fields of some artifacts. They are not changed, so any thread may read them."""

    def __init__(self, fields: Sequence[Sequence[Any]]) -> None:
        compress, self._decompress = _codec()
        self._data = compress(pickle.dumps(fields, pickle.HIGHEST_PROTOCOL))

    def read(self) -> Any:
        """The fields of each artifact."""
        return pickle.loads(self._decompress(self._data))


def _codec() -> tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]:
    """How groups are compressed and decompressed."""
    try:
        import lzma
    except ImportError:  # a Python without it
        import zlib

        return zlib.compress, zlib.decompress
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 2**21}]
    raw = lzma.FORMAT_RAW
    return (
        lambda data: lzma.compress(data, format=raw, filters=filters),
        lambda data: lzma.decompress(data, format=raw, filters=filters),
    )


def note_loaded(artifact: Artifact) -> None:
    """A kernel of this artifact is kept from now on. Packs the oldest ones that were noted, if there are enough."""
    oldest: list[Artifact] = []
    with _lock:
        _recent.append(weakref.ref(artifact))
        if len(_recent) >= UNPACKED + GROUP:
            living = [(reference, kept) for reference in _recent if (kept := reference()) is not None]
            if len(living) >= UNPACKED + GROUP:
                oldest = [kept for _, kept in living[:GROUP]]
                living = living[GROUP:]
            _recent[:] = [reference for reference, _ in living]
    if oldest:
        pack([kept for kept in oldest if kept is not artifact])


def pack(artifacts: Sequence[Artifact]) -> None:
    """Compress the fields of those that are not packed already and contain plain data only."""
    plain: dict[int, Artifact] = {}
    for artifact in artifacts:
        if not _is_small(artifact) and _can_be_pickled(artifact):
            plain[id(artifact)] = artifact
    if not plain:
        return
    group = _Group([[getattr(artifact, name) for name in FIELDS] for artifact in plain.values()])
    for number, artifact in enumerate(plain.values()):
        fields = vars(artifact)
        fields[_PACKED] = group, number
        for name in FIELDS:  # whoever reads meanwhile finds one or the other
            fields.pop(name, None)


def _is_small(artifact: Artifact) -> bool:
    """Whether it is packed already, or its source is in a file."""
    packed = vars(artifact).get(_PACKED)
    return packed is not None and not (isinstance(packed[0], _Deferred) and packed[0].in_memory)


class _Deferred:
    """The fields of one artifact whose source is read when it is first used; the other two are the artifact's own."""

    def __init__(self, read_source: Callable[[], str], in_memory: bool) -> None:
        self._read_source = read_source
        self.in_memory = in_memory

    def read(self) -> Any:
        return [[self._read_source(), None, None]]


def defer_source(artifact: Artifact, read_source: Callable[[], str], in_memory: bool = False) -> None:
    """Let ``read_source`` give the artifact's source when somebody uses it, in place of the one that it has.
    in_memory: ``read_source`` keeps the source's bytes, so that packing the artifact frees memory."""
    fields = vars(artifact)
    fields[_PACKED] = _Deferred(read_source, in_memory), 0
    fields.pop("source", None)


def unpacked(artifact: Artifact, name: str) -> Any:
    """A field of a packed artifact. Raises AttributeError where it has no such field."""
    packed = vars(artifact).get(_PACKED)
    if packed is None or name not in FIELDS:
        raise AttributeError(f"{type(artifact).__name__!r} object has no attribute {name!r}")
    group, number = packed
    return _last_read(group)[number][FIELDS.index(name)]


def unpacked_state(artifact: Artifact) -> dict[str, Any]:
    """All fields of an artifact, as it would have them if it had never been packed."""
    state = dict(vars(artifact))
    if state.pop(_PACKED, None) is not None:
        state |= {name: getattr(artifact, name) for name in FIELDS}
    return state


@functools.lru_cache(maxsize=1)
def _last_read(group: _Group | _Deferred) -> Any:
    """The fields of a group; those who read one artifact's read several, or its neighbours'."""
    return group.read()


def _can_be_pickled(artifact: Artifact) -> bool:
    try:
        pickle.dumps(artifact.report)
    except Exception:
        return False
    return True
