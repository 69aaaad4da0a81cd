"""Finds and loads the backends of targets; a broken package does not affect the others.

The module's functions act on one process-wide :class:`Manager`::

    backend, target = manager.resolve("cpu")         # attributes checked and filled in
    with manager.register(my_plugin_module):         # without an entry point, for tests and notebooks
        kernel = tilecore.compile(function, target="acme")
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from tilecore import settings
from tilecore.errors import PluginError, TargetError, TilecoreError
from tilecore.frozen_dataclasses import frozen
from tilecore.plugins import discovery
from tilecore.plugins.attributes import by_any_name, complete
from tilecore.plugins.discovery import HOST_KIND, Catalogue, Entry
from tilecore.plugins.isolation import LoadReport, PluginWarning
from tilecore.plugins.target_errors import clash, unknown_target
from tilecore.plugins.tvm_targets import current_target, from_tvm, is_tvm_target, kind_name
from tilecore.target import Attribute, Target

if TYPE_CHECKING:
    from tilecore.contract.records import Backend, Presence, TargetSpec
    from tilecore.plugins.asking import PluginAnswer, PluginAnswers, TargetFacts
    from tilecore.plugins.loader import Loader


@frozen
class Status:
    """The state of a target kind. package: for a clash all packages, separated by commas. error: None for "ok"."""

    kind: str
    state: Literal["ok", "broken", "clash"]
    package: str
    version: str
    error: PluginError | None = None
    report: LoadReport | None = None

    @property
    def reason(self) -> str:
        """The error in one sentence, "" without an error."""
        return self.error.message if self.error else ""


class Registration:
    """A plugin registered by :meth:`Manager.register`, until ``remove()`` or the end of the ``with`` block."""

    def __init__(self, manager: Manager, entry: Entry) -> None:
        self._manager = manager
        self.entry = entry

    def remove(self) -> None:
        self._manager._unregister(self.entry)

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Manager:
    """Finds and loads backends. All methods may be called from several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._catalogue: Catalogue | None = None
        self._registered: dict[str, Entry] = {}
        self._loaders: dict[Entry, Loader] = {}
        self._resolved: dict[Target, Target] = {}
        self._detected: dict[Entry, Presence] = {}
        self._warned: set[Entry] = set()
        self._given_answers: PluginAnswers | None = None

    # -- installed kinds

    def kinds(self) -> tuple[str, ...]:
        """Kinds of all installed and registered backends, sorted; reads metadata only."""
        return tuple(sorted(self._entries()))

    def claims(self, kind: str) -> tuple[Entry, ...]:
        """The packages that offer ``kind``; more than one is a clash; reads metadata only."""
        return self._entries().get(kind, ())

    def problems(self) -> tuple[str, ...]:
        """A sentence for each package whose metadata cannot be read."""
        self._entries()
        return self._catalogue.problems if self._catalogue else ()

    def status(self, kind: str, *, whole: bool = False) -> Status:
        """Load the plugin of ``kind`` and return its state. whole: load all hooks, not only the target.

        Raises TargetError for a kind that no package offers.
        """
        entries = self.claims(kind)
        if not entries:
            raise self._unknown(kind)
        package = ", ".join(entry.package for entry in entries)
        version = ", ".join(entry.version for entry in entries)
        try:
            loader = self._loader(kind)
            if whole:
                loader.backend()
            else:
                loader.target()
        except PluginError as error:
            state: Literal["broken", "clash"] = "clash" if len(entries) > 1 else "broken"
            report = None if state == "clash" else self._loader(kind).report
            return Status(kind, state, package, version, error, report)
        return Status(kind, "ok", package, version, None, loader.report)

    # -- backends and targets

    def get(self, target: Any) -> Backend:
        """The backend of a target: a kind, an alias, a text, a dict, a Target or TVM's; None or "auto" for the default.

        Raises TargetError when no package offers the target, PluginError when its package is broken or clashes.
        """
        if _is_auto(target):
            return self.use_default()[0]
        kind, _ = self._find(kind_name(target) if is_tvm_target(target) else Target.parse(target).kind)
        return self._loader(kind).backend()

    def resolve(self, target: Any) -> tuple[Backend, Target]:
        """The backend, and the target with aliases replaced and all attributes checked and filled in.

        Raises TargetError for an unknown target or attribute, PluginError for a broken package.
        """
        if _is_auto(target):
            return self.use_default()
        foreign = is_tvm_target(target)
        typed = Target(kind_name(target)) if foreign else Target.parse(target)
        kind, implied = self._find(typed.kind)
        backend = self._loader(kind).backend()
        if foreign:
            typed = from_tvm(target, kind, by_any_name(backend.target.attributes))
        requested = Target(kind, {**implied, **typed.attributes})
        resolved = self._resolved.get(requested)
        if resolved is None:
            resolved = self._resolved.setdefault(requested, complete(backend, requested))
        return backend, resolved

    def target_spec(self, kind: str) -> TargetSpec:
        """The answer of the hook ``tilecore_target`` of ``kind``; the other hooks are not called."""
        return self._loader(kind).target()

    def offers(self) -> Iterator[TargetFacts]:
        """Aliases and language names of the targets of all working packages, the host first, without importing them."""
        for kind in sorted(self.kinds(), key=lambda kind: (kind != HOST_KIND, kind)):
            entry, *others = self.claims(kind)
            if others:
                continue
            if self._is_here(entry):
                with contextlib.suppress(PluginError):
                    yield self._loader(kind).target()
                continue
            answer = self._ask_plugin(entry, devices=False)
            if not answer.problem:
                yield answer

    def use_default(self) -> tuple[Backend, Target]:
        """The target of "auto": ``TILECORE_TARGET`` if set, else that of ``with tvm.target.Target(...)``, else the
        first kind (by name) whose device is present, else the host. A broken backend is skipped with a warning."""
        chosen = settings.target()
        if chosen != "auto":
            return self._resolve_variable(chosen)
        current = current_target()
        if current is not None:
            return self.resolve(current)
        for kind in self.kinds():
            if kind != HOST_KIND and self._detects(kind):
                return self.resolve(kind)
        return self.resolve(HOST_KIND)

    # -- plugins without entry points

    def register(
        self, plugin: Any, *, kind: str | None = None, package: str | None = None, version: str = "0"
    ) -> Registration:
        """Offer a plugin that is not installed: a module, an object with @hookimpl methods, or "module:attribute".

        kind: the plugin's own when not given. package: the name for errors; the module's name when not given.
        version: what the cache keys of its kernels contain, beside a digest of the files of a module. For an object,
        which has no files, they contain a random text, so that no other registration gets its kernels.
        The registration ends by ``with`` or ``.remove()``. Raises PluginError when the kind is taken.
        """
        text = plugin if isinstance(plugin, str) else getattr(plugin, "__name__", type(plugin).__name__)
        load = (lambda: discovery.import_value(plugin)) if isinstance(plugin, str) else (lambda: plugin)
        has_files = isinstance(plugin, str) or _has_files(plugin)
        registration = "" if has_files else os.urandom(8).hex()
        entry = Entry(kind or "?", package or text, version, text, load, registration)
        if kind is None:
            from tilecore.plugins.loader import kind_of

            entry = replace(entry, kind=kind_of(entry))
        with self._lock:
            existing = self.claims(entry.kind)
            if existing:
                raise clash(entry.kind, (*existing, entry))
            self._registered[entry.kind] = entry
        return Registration(self, entry)

    def refresh(self) -> None:
        """Clear all state: metadata is read again, and failed plugins are loaded again (imported modules stay)."""
        with self._lock:
            self._read_again()
            self._loaders.clear()
            self._resolved.clear()
            self._detected.clear()
            self._warned.clear()
            self._given_answers = None

    # -- internals

    def _unregister(self, entry: Entry) -> None:
        with self._lock:
            if self._registered.get(entry.kind) is entry:
                del self._registered[entry.kind]
            self._loaders.pop(entry, None)
            self._detected.pop(entry, None)
            self._resolved = {
                requested: resolved for requested, resolved in self._resolved.items() if requested.kind != entry.kind
            }

    def _read_again(self) -> None:
        importlib.invalidate_caches()
        with self._lock:
            self._catalogue = None

    def _entries(self) -> Mapping[str, tuple[Entry, ...]]:
        with self._lock:
            if self._catalogue is None:
                self._catalogue = discovery.discover()
            entries = dict(self._catalogue.entries)
            for kind, entry in self._registered.items():
                entries[kind] = (*entries.get(kind, ()), entry)
            return entries

    def _loader(self, kind: str) -> Loader:
        entries = self.claims(kind)
        if not entries:
            raise self._unknown(kind)
        if len(entries) > 1:
            raise clash(kind, entries)
        from tilecore.plugins.loader import Loader  # where a backend is used

        with self._lock:
            return self._loaders.setdefault(entries[0], Loader(entries[0]))

    def _find(self, name: str) -> tuple[str, Mapping[str, Attribute]]:
        """Kind and implied attributes of a kind or an alias. Kinds need no import. An alias of several kinds belongs to
        the host, else to the first by name, so that the answer is the same in every process."""
        for second_try in (False, True):
            if second_try:  # a package may have been installed since the first read
                self._read_again()
            if self.claims(name):
                return name, {}
            for offer in self.offers():
                if name in offer.aliases:
                    return offer.kind, offer.aliases[name]
        raise self._unknown(name)

    def _unknown(self, name: str) -> TargetError:
        offers = list(self.offers())
        aliases = {alias for offer in offers for alias in offer.aliases}
        working = {offer.kind for offer in offers}
        kinds = self.kinds()
        broken = [kind for kind in kinds if kind not in working]
        return unknown_target(name, kinds, aliases, broken, list(self._with_architecture(name, sorted(working))))

    def _with_architecture(self, name: str, kinds: Sequence[str]) -> Iterator[str]:
        """The targets that have an architecture of this name."""
        for kind in kinds:
            with contextlib.suppress(TilecoreError):
                if "arch" in self.target_spec(kind).attributes:
                    self.resolve(Target(kind, {"arch": name}))
                    yield f"{kind} -arch={name}"

    def _is_here(self, entry: Entry) -> bool:
        """Whether the plugin may be loaded in this process: the host's, registered ones, and those in use already."""
        if entry.kind == HOST_KIND or self._registered.get(entry.kind) is entry:
            return True
        loader = self._loaders.get(entry)
        return loader is not None and loader.tried

    @property
    def _answers(self) -> PluginAnswers:
        """The answers of plugins that are asked in processes of their own; of a target that is named none is asked."""
        with self._lock:
            if self._given_answers is None:
                from tilecore.plugins.asking import PluginAnswers

                self._given_answers = PluginAnswers()
            return self._given_answers

    def _ask_plugin(self, entry: Entry, *, devices: bool) -> PluginAnswer:
        """The answer of a plugin from a separate process. All other plugins without an answer are asked in parallel."""
        answer = self._answers.get(entry, devices)
        if answer is None:
            single = [entries[0] for entries in self._entries().values() if len(entries) == 1]
            apart = [other for other in single if not self._is_here(other)]
            answer = self._answers.ask(apart, devices, lambda other: self._loader(other.kind).target())[entry]
        return answer

    def _resolve_variable(self, chosen: str) -> tuple[Backend, Target]:
        try:
            return self.resolve(chosen)
        except (TargetError, PluginError) as error:
            error.message = f"{error.message} (the target is set by the environment variable TILECORE_TARGET={chosen})"
            raise

    def _detects(self, kind: str) -> bool:
        entry = self.claims(kind)[0]
        try:
            loader = self._loader(kind)
            if self._is_here(entry):
                return self._is_present(entry, loader)
            answer = self._ask_plugin(entry, devices=True)
            if answer.problem:
                self._pass_over(entry, answer.problem)
                return False
            # this target would be used: detect its device again, as the answer may be old
            return answer.present and self._is_present(entry, loader)
        except PluginError as error:
            self._pass_over(entry, error.message)
            return False

    def _is_present(self, entry: Entry, loader: Loader) -> bool:
        presence = self._detected.get(entry)
        if presence is None:
            presence = self._detected[entry] = loader.target().detect()
        return presence.present

    def _pass_over(self, entry: Entry, reason: str) -> None:
        if entry not in self._warned:
            self._warned.add(entry)
            warnings.warn(f'target "auto" skips target {entry.kind!r}: {reason}', PluginWarning, stacklevel=5)


def _has_files(plugin: Any) -> bool:
    """Whether the plugin is an imported module with a file, which a digest of the package's files identifies."""
    return (
        isinstance(plugin, ModuleType)
        and sys.modules.get(plugin.__name__) is plugin
        and getattr(plugin, "__file__", None) is not None
    )


def _is_auto(target: Any) -> bool:
    return target is None or (isinstance(target, str) and target.strip() == "auto")


_manager = Manager()
kinds = _manager.kinds
claims = _manager.claims
problems = _manager.problems
status = _manager.status
get = _manager.get
resolve = _manager.resolve
target_spec = _manager.target_spec
offers = _manager.offers
use_default = _manager.use_default
register = _manager.register
refresh = _manager.refresh
