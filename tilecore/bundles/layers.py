"""Finds kernels in bundles that stand under the user's own cache: those of TILECORE_CACHE_PATH, and those that the
program has added."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence

from tilecore import settings
from tilecore.artifact.records import Artifact
from tilecore.bundles.file import BundleFile
from tilecore.bundles.format import KernelRecord
from tilecore.bundles.trust import require_trusted
from tilecore.compilation_cache.folder_layer import BUNDLE, FolderLayer
from tilecore.compilation_cache.versions import portable_versions
from tilecore.compilation_cache.warning import warn
from tilecore.contract.adapter import this_machine
from tilecore.errors import CacheError

Fit = Callable[[str], int]


class BundleLayer:
    """A bundle whose kernels are used where a program asks for the same ones. It is opened, and its owner or signature
    checked, by the first use. No method raises on account of the file: what cannot be used is missing, and one warning
    says why. problem: why it is not used, "" where it is, or was not used yet."""

    def __init__(self, path: str, file: BundleFile | None = None) -> None:
        self.path = path
        self._file = file
        self._kernels: dict[str, list[KernelRecord]] | None = None
        self.problem = ""
        self._lock = threading.Lock()

    def find(self, keys: Sequence[str], adapter: str, fit: Fit) -> Artifact | None:
        """The artifact of the first of ``keys`` that the bundle has for ``adapter``, for the target that fits best."""
        for key in keys:
            records = [record for record in self._by_key().get(key, ()) if record.adapter == adapter]
            record = best_of(records, fit)
            if record is not None and self._file is not None:
                try:
                    return self._file.artifact(record)
                except CacheError as error:
                    self._give_up(error)
        return None

    def records(self) -> tuple[KernelRecord, ...] | None:
        """All kernels of the bundle; None where it is not used."""
        self._by_key()
        is_used = self._file is not None and bool(self._kernels)
        return self._file.index.kernels if is_used and self._file is not None else None

    def _by_key(self) -> dict[str, list[KernelRecord]]:
        if self._kernels is None:
            with self._lock:
                if self._kernels is None:
                    self._kernels = self._read()
        return self._kernels

    def _read(self) -> dict[str, list[KernelRecord]]:
        by_key: dict[str, list[KernelRecord]] = {}
        try:
            if self._file is None:
                file = BundleFile(self.path)
                require_trusted(file)
                require_version(file)
                self._file = file
            for record in self._file.index.kernels:
                for key in record.keys:
                    by_key.setdefault(key, []).append(record)
        except CacheError as error:
            self._give_up(error)
            return {}
        return by_key

    def _give_up(self, error: CacheError) -> None:
        """Use nothing of the bundle from now on, and say why."""
        self._kernels = {}
        self.problem = _in_words(error, self.path)
        warn(f"the bundle {self.path} is not used: {self.problem}")


def _in_words(error: CacheError, path: str) -> str:
    """An error of a bundle on one line, with "it" in place of the path in front."""
    begins_with_path = error.message.startswith(f"{path} ")
    message = f"it{error.message[len(path) :]}" if begins_with_path else error.message
    return "; ".join(part for part in (message, error.found, error.hint) if part)


def require_version(file: BundleFile) -> None:
    """Raises CacheError for a bundle of another version of tilecore: no function would find a kernel in it."""
    version = portable_versions("", "").get("tilecore", "")
    if file.index.tilecore != version:
        raise CacheError(
            f"it was compiled by tilecore {file.index.tilecore}, and this is {version}, whose functions may mean "
            "something else",
            hint="compile it again with this version; tilecore.load_bundle finds its kernels by name",
        )


_layers: dict[str, BundleLayer] = {}
_added: list[BundleLayer] = []
_asked = True


def best_of(records: Sequence[KernelRecord], fit: Fit, machine: str = "") -> KernelRecord | None:
    """The record whose target fits best and that runs on this machine, or on ``machine`` where it is given; None where
    none does. fit: of a target's text; 0 where it does not fit."""
    allowed = ("", machine or this_machine())
    ranked = [(fit(record.target), -number) for number, record in enumerate(records) if record.machine in allowed]
    rank, number = max(ranked, default=(0, 0))
    return records[-number] if rank > 0 else None


def runs_here(record: KernelRecord) -> bool:
    """Whether this is a machine for the kernel, apart from its device."""
    return record.machine in ("", this_machine())


def add(file: BundleFile) -> None:
    """Let programs of this process find the kernels of an open bundle, before those of TILECORE_CACHE_PATH."""
    if all(layer.path != file.path for layer in _added):
        _added.append(BundleLayer(file.path, file))


def remove(file: BundleFile) -> None:
    """Undo :func:`add`. Kernels that programs have found stay in use."""
    _added[:] = [layer for layer in _added if layer.path != file.path]


@contextlib.contextmanager
def set_aside() -> Iterator[None]:
    """Inside of it, this process asks no bundles."""
    global _asked
    before, _asked = _asked, False
    try:
        yield
    finally:
        _asked = before


def are_there() -> bool:
    """Whether any bundles can be asked."""
    return _asked and bool(_added or settings.cache_path())


def are_set_aside() -> bool:
    """Whether the process is inside of :func:`set_aside`."""
    return not _asked


def all_layers() -> Iterator[BundleLayer]:
    """The bundles in the order in which they are asked."""
    yield from _added
    yield from _of_settings()


def find(keys: Sequence[str], adapter: str, fit: Fit) -> Artifact | None:
    """The artifact of a kernel of the first bundle that has it."""
    for layer in all_layers():
        artifact = layer.find(keys, adapter, fit)
        if artifact is not None:
            return artifact
    return None


def _of_settings() -> Iterator[BundleLayer]:
    for path in settings.cache_path() or ():
        for file in _bundles_at(path):
            layer = _layers.get(file)
            yield _layers.setdefault(file, BundleLayer(file)) if layer is None else layer


def problem_of(path: str) -> str:
    """Why an element of TILECORE_CACHE_PATH is not used, in whole or in part; "" where it is. Reads no kernels."""
    problems = [] if os.path.isfile(path) else [FolderLayer(path).problem()]
    for bundle in _bundles_at(path):
        try:
            file = BundleFile(bundle)
            require_trusted(file)
            require_version(file)
            file.close()
        except CacheError as error:
            text = _in_words(error, bundle)
            problems.append(text if bundle == path else f"{bundle} is not used: {text}")
    return "; ".join(problem for problem in problems if problem)


_folders: dict[str, tuple[str, ...]] = {}


def _bundles_at(path: str) -> tuple[str, ...]:
    """The bundle files of an element of TILECORE_CACHE_PATH: itself, or those of a directory; looked up once."""
    found = _folders.get(path)
    if found is None:
        try:
            names = sorted(name for name in os.listdir(path) if name.endswith(BUNDLE))
            found = tuple(os.path.join(path, name) for name in names)
        except NotADirectoryError:
            found = (path,)
        except OSError:  # the layer of folders warns of it
            found = ()
        _folders[path] = found
    return found
