"""Implements ``tilecore cache``: plain functions on the cache directory of the current settings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from tilecore import settings
from tilecore.caller import keywords_checked
from tilecore.compilation_cache.binaries import is_whole_binary
from tilecore.compilation_cache.current import is_cache_enabled
from tilecore.compilation_cache.entry_format import BadEntryError, decode, decode_note
from tilecore.compilation_cache.eviction import collect, stored
from tilecore.compilation_cache.layout import Layout, is_other, read_file, require_private
from tilecore.compilation_cache.libraries import is_whole, libraries, remove_unfinished
from tilecore.compilation_cache.publish import remove_abandoned
from tilecore.compilation_cache.quarantine import quarantine, remove, set_aside
from tilecore.errors import CacheError


@dataclass(frozen=True)
class CacheStats:
    """The state of the cache directory. Sizes in bytes, rounded up to pages.

    entries: kernels. links: ways to them from sources. results: what the autotuner found. libraries: simulators, and
    kernels that were built for them. binaries: files with what the systems of devices compiled. problem: why the
    directory cannot be used, or None. enabled: False when a setting turned the cache off.
    """

    path: str | None
    enabled: bool
    problem: str | None
    entries: int
    links: int
    results: int
    bytes: int
    limit: int
    quarantined: int
    libraries: int = 0
    binaries: int = 0


@dataclass(frozen=True)
class CacheCheck:
    """What :func:`verify` found. damaged: paths that were set aside. dangling: links whose entry is gone, removed."""

    entries: int
    links: int
    results: int
    damaged: tuple[str, ...]
    dangling: int
    libraries: int = 0
    binaries: int = 0


@dataclass(frozen=True)
class CacheCleared:
    """What :func:`clear` removed: kernels, results of the autotuner, libraries of simulators, and files with what the
    systems of devices compiled."""

    entries: int
    results: int
    libraries: int = 0
    binaries: int = 0


@dataclass(frozen=True)
class CacheCollected:
    """What :func:`gc` removed, and what is left: numbers of files, and bytes on disk. unfinished: files that processes
    which ended too early had begun to write."""

    files: int
    bytes: int
    files_left: int
    bytes_left: int
    unfinished: int = 0


def path() -> str | None:
    """The cache directory; None when no home directory is known and TILECORE_CACHE_DIR is not set."""
    return settings.cache_dir()


def stats() -> CacheStats:
    """Counts and sizes; makes and changes nothing."""
    root = settings.cache_dir()
    limit = settings.cache_size()
    if root is None:
        return CacheStats(None, is_cache_enabled(), "no home directory is known", 0, 0, 0, 0, limit, 0)
    layout = Layout(root)
    files = {store: stored(store) for store in layout.stores}  # each folder is read once
    built = libraries(root)
    quarantined = 0
    with contextlib.suppress(OSError):
        quarantined = len(os.listdir(layout.quarantine))
    return CacheStats(
        path=root,
        enabled=is_cache_enabled(),
        problem=_problem(root),
        entries=len(files[layout.entries]),
        links=len(files[layout.links]),
        results=len(files[layout.results]),
        bytes=sum(file.size for listed in (*files.values(), built) for file in listed),
        limit=limit,
        quarantined=quarantined,
        libraries=len(built),
        binaries=len(files[layout.binaries]),
    )


def clear() -> CacheCleared:
    """Remove everything that is stored or quarantined. Raises CacheError."""
    layout = _existing_layout()
    if layout is None:
        return CacheCleared(0, 0)
    removed = {store: sum(remove(file.path) for file in stored(store)) for store in layout.stores}
    with contextlib.suppress(OSError):
        for name in os.listdir(layout.quarantine):
            remove(os.path.join(layout.quarantine, name))
    remove_abandoned(layout.staging)
    remove(layout.growth)
    remove(layout.searched)
    remove_unfinished(layout.root)
    built = sum(remove(file.path) for file in libraries(layout.root))
    return CacheCleared(removed[layout.entries], removed[layout.results], built, removed[layout.binaries])


@keywords_checked
def gc(max_bytes: int | None = None, max_age: float | None = None) -> CacheCollected:
    """Remove files that were last used more than ``max_age`` seconds ago, then the least recently used ones until
    ``max_bytes`` are left. Raises CacheError.

    None: what TILECORE_CACHE_SIZE and TILECORE_CACHE_AGE say. The time of use is noted once an hour. Safe while other
    processes, on other hosts too, use the cache: what they miss they compile again. Libraries of simulators stay, as
    processes may have loaded them.
    """
    layout = _existing_layout()
    if layout is None:
        return CacheCollected(0, 0, 0, 0)
    most = settings.cache_size() if max_bytes is None else max_bytes
    removed = collect(layout, most, settings.cache_age() if max_age is None else max_age)
    with contextlib.suppress(OSError):
        os.truncate(layout.growth, 0)
    unfinished = remove_abandoned(layout.staging)
    return CacheCollected(removed.files, removed.bytes, removed.files_left, removed.bytes_left, unfinished)


def verify() -> CacheCheck:
    """Read every file and quarantine the damaged ones. Raises CacheError."""
    layout = _existing_layout()
    if layout is None:
        return CacheCheck(0, 0, 0, (), 0)
    entries, links, results = stored(layout.entries), stored(layout.links), stored(layout.results)
    damaged = [file.path for file in entries if not _intact(layout, file.path, decode)]
    for file in [*stored(layout.definitions), *results, *stored(layout.plugins)]:
        if not _intact(layout, file.path, decode_note):
            damaged.append(file.path)
    dangling = 0
    for file in links:
        if not _intact(layout, file.path, decode_note):
            damaged.append(file.path)
        elif _dangles(layout, file.path):
            dangling += remove(file.path)
    built = libraries(layout.root)
    for file in built:
        if not is_whole(file.path, os.path.basename(file.path)):
            set_aside(file.path, layout.quarantine)
            damaged.append(file.path)
    binaries = stored(layout.binaries)
    for file in binaries:
        if not is_whole_binary(file.path):
            set_aside(file.path, layout.quarantine)
            damaged.append(file.path)
    return CacheCheck(len(entries), len(links), len(results), tuple(damaged), dangling, len(built), len(binaries))


def _intact(layout: Layout, path: str, decoder: Callable[[bytes, str], object]) -> bool:
    """Whether the file fits its name, or has been deleted meanwhile; else quarantines it."""
    try:
        data, facts = read_file(path)
    except FileNotFoundError:
        return True
    except OSError:
        if is_other(path):
            set_aside(path, layout.quarantine)
        return False
    try:
        decoder(data, _key_of(path))
        return True
    except BadEntryError:
        quarantine(path, facts.st_ino, layout.quarantine)
        return False


def _dangles(layout: Layout, path: str) -> bool:
    try:
        return not os.path.exists(layout.entry(decode_note(read_file(path)[0], _key_of(path))))
    except (OSError, BadEntryError):
        return False


def _existing_layout() -> Layout | None:
    root = settings.cache_dir()
    if root is None:
        raise CacheError("no home directory is known", hint="set TILECORE_CACHE_DIR")
    layout = Layout(root)
    if not os.path.isdir(root):
        return None
    require_private(root)
    if os.path.lexists(layout.base):
        require_private(layout.base)
    return layout


def _problem(root: str) -> str | None:
    try:
        if os.path.isdir(root):
            require_private(root)
    except OSError as error:
        return str(error)
    place = root
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        return f"{place} is not a directory"
    if not os.access(place, os.W_OK | os.X_OK):
        return f"{place} is not writable"
    return None


def _key_of(path: str) -> str:
    return os.path.basename(os.path.dirname(path)) + os.path.basename(path)
