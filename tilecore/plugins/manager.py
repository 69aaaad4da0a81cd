"""Finds backends by target, loads one at a time, and lets no broken package disturb another.

The module's functions act on one process-wide :class:`Manager`::

    backend, target = manager.resolve("cpu")         # attributes checked and filled in
    with manager.register(my_plugin_module):         # without an entry point: tests, notebooks
        kernel = tilecore.compile(function, target="acme")
"""

from __future__ import annotations

import contextlib
import importlib
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tilecore import settings
from tilecore.contract.records import Backend, Presence, TargetSpec
from tilecore.errors import PluginError, TargetError
from tilecore.plugins import discovery
from tilecore.plugins.asking import Elsewhere, Offer, Told
from tilecore.plugins.attributes import by_any_name, complete
from tilecore.plugins.discovery import HOST_KIND, Catalogue, Entry
from tilecore.plugins.isolation import LoadReport, PluginWarning
from tilecore.plugins.loader import Loader, kind_of
from tilecore.plugins.target_errors import clash, unknown_target
from tilecore.plugins.tvm_targets import from_tvm, is_tvm_target, kind_name
from tilecore.target import Attribute, Target


@dataclass(frozen=True)
class Status:
    """How a kind fares. ``package`` names all claimants of a clash, separated by commas; ``error``: why not "ok"."""

    kind: str
    state: Literal["ok", "broken", "clash"]
    package: str
    version: str
    error: PluginError | None = None
    report: LoadReport | None = None

    @property
    def reason(self) -> str:
        """One sentence, "" when all is well."""
        return self.error.message if self.error else ""


class Registration:
    """A plugin registered by hand: until ``remove()``, or the end of the ``with`` block."""

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
    """See the module. All methods may be called from several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._catalogue: Catalogue | None = None
        self._registered: dict[str, Entry] = {}
        self._loaders: dict[Entry, Loader] = {}
        self._resolved: dict[Target, Target] = {}
        self._detected: dict[Entry, Presence] = {}
        self._warned: set[Entry] = set()
        self._elsewhere = Elsewhere()

    # -- what is there

    def kinds(self) -> tuple[str, ...]:
        """Kinds of all installed and registered backends, sorted; reads metadata only."""
        return tuple(sorted(self._entries()))

    def claims(self, kind: str) -> tuple[Entry, ...]:
        """The packages that offer ``kind``; more than one is a clash; reads metadata only."""
        return self._entries().get(kind, ())

    def problems(self) -> tuple[str, ...]:
        """Packages whose metadata cannot be read, in words."""
        self._entries()
        return self._catalogue.problems if self._catalogue else ()

    def status(self, kind: str, *, whole: bool = False) -> Status:
        """Loads the plugin of ``kind`` (its target only, unless ``whole``) and says how that went; raises only
        TargetError, for a kind that nobody offers."""
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

    # -- using one

    def get(self, target: Any) -> Backend:
        """The backend of a target: a kind, an alias, a text, a dict, a Target or TVM's; None or "auto" for the default.

        Raises TargetError when nobody offers it, PluginError when the package that does is broken or clashes.
        """
        if _is_auto(target):
            return self.use_default()[0]
        kind, _ = self._find(kind_name(target) if is_tvm_target(target) else Target.parse(target).kind)
        return self._loader(kind).backend()

    def resolve(self, target: Any) -> tuple[Backend, Target]:
        """The backend, and the target with aliases replaced and every attribute checked and filled in."""
        if _is_auto(target):
            return self.use_default()
        foreign = is_tvm_target(target)
        typed = Target(kind_name(target)) if foreign else Target.parse(target)
        kind, implied = self._find(typed.kind)
        backend = self._loader(kind).backend()
        if foreign:
            typed = from_tvm(target, kind, by_any_name(backend.target.attributes))
        wanted = Target(kind, {**implied, **typed.attributes})
        resolved = self._resolved.get(wanted)
        if resolved is None:
            resolved = self._resolved.setdefault(wanted, complete(backend, wanted))
        return backend, resolved

    def target_spec(self, kind: str) -> TargetSpec:
        """What ``tilecore_target`` of ``kind`` answered; the other hooks are not asked."""
        return self._loader(kind).target()

    def offers(self) -> Iterator[Offer]:
        """What the targets of the packages that work say of themselves, the host's first; imports none of them."""
        for kind in sorted(self.kinds(), key=lambda kind: (kind != HOST_KIND, kind)):
            entry, *others = self.claims(kind)
            if others:
                continue
            if self._is_here(entry):
                with contextlib.suppress(PluginError):
                    yield self._loader(kind).target()
                continue
            told = self._told_elsewhere(entry, devices=False)
            if not told.problem:
                yield told

    def use_default(self) -> tuple[Backend, Target]:
        """What "auto" means: ``TILECORE_TARGET`` if set, else the first backend (by kind) that detects its device,
        else the host. A broken backend is skipped with one warning."""
        chosen = settings.target()
        if chosen != "auto":
            return self._resolve_variable(chosen)
        for kind in self.kinds():
            if kind != HOST_KIND and self._detects(kind):
                return self.resolve(kind)
        return self.resolve(HOST_KIND)

    # -- without entry points

    def register(
        self, plugin: Any, *, kind: str | None = None, package: str | None = None, version: str = "0"
    ) -> Registration:
        """Offer a plugin that is not installed: a module, an object with @hookimpl methods, or "module:attribute".

        kind: asked of the plugin when not given. package: what errors call it; the module's name when not given.
        The result ends it: by ``with`` or ``.remove()``. Raises PluginError when the kind is taken.
        """
        text = plugin if isinstance(plugin, str) else getattr(plugin, "__name__", type(plugin).__name__)
        load = (lambda: discovery.import_value(plugin)) if isinstance(plugin, str) else (lambda: plugin)
        entry = Entry(kind or "?", package or text, version, text, load)
        if kind is None:
            entry = Entry(kind_of(entry), entry.package, version, text, load)
        with self._lock:
            taken = self.claims(entry.kind)
            if taken:
                raise clash(entry.kind, (*taken, entry))
            self._registered[entry.kind] = entry
        return Registration(self, entry)

    def refresh(self) -> None:
        """Forget everything: read metadata again, and load again what failed (modules that Python has stay)."""
        with self._lock:
            self._read_again()
            self._loaders.clear()
            self._resolved.clear()
            self._detected.clear()
            self._warned.clear()
            self._elsewhere = Elsewhere()

    # -- inside

    def _unregister(self, entry: Entry) -> None:
        with self._lock:
            if self._registered.get(entry.kind) is entry:
                del self._registered[entry.kind]
            self._loaders.pop(entry, None)
            self._detected.pop(entry, None)
            self._resolved = {wanted: made for wanted, made in self._resolved.items() if wanted.kind != entry.kind}

    def _read_again(self) -> None:
        importlib.invalidate_caches()
        with self._lock:
            self._catalogue = None

    def _entries(self) -> Mapping[str, tuple[Entry, ...]]:
        with self._lock:
            if self._catalogue is None:
                self._catalogue = discovery.discover()
            known = dict(self._catalogue.entries)
            for kind, entry in self._registered.items():
                known[kind] = (*known.get(kind, ()), entry)
            return known

    def _loader(self, kind: str) -> Loader:
        entries = self.claims(kind)
        if not entries:
            raise self._unknown(kind)
        if len(entries) > 1:
            raise clash(kind, entries)
        with self._lock:
            return self._loaders.setdefault(entries[0], Loader(entries[0]))

    def _find(self, name: str) -> tuple[str, Mapping[str, Attribute]]:
        """Kind and implied attributes of a kind or an alias. Kinds need no import; an alias goes to the first that
        has it, the host first and then by kind, so that the answer is the same in every process."""
        for again in (False, True):
            if again:  # a package may have been installed since
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
        return unknown_target(name, kinds, aliases, [kind for kind in kinds if kind not in working])

    def _is_here(self, entry: Entry) -> bool:
        """May the plugin be asked in this process? The core's own, and what this process uses anyway, may be."""
        if entry.kind == HOST_KIND or self._registered.get(entry.kind) is entry:
            return True
        loader = self._loaders.get(entry)
        return loader is not None and loader.tried

    def _told_elsewhere(self, entry: Entry, *, devices: bool) -> Told:
        """What a plugin says of itself in a process of its own. All others that are not here are asked with it, so
        that nobody is waited for twice."""
        told = self._elsewhere.get(entry, devices)
        if told is None:
            single = [entries[0] for entries in self._entries().values() if len(entries) == 1]
            apart = [other for other in single if not self._is_here(other)]
            told = self._elsewhere.ask(apart, devices, lambda other: self._loader(other.kind).target())[entry]
        return told

    def _resolve_variable(self, chosen: str) -> tuple[Backend, Target]:
        try:
            return self.resolve(chosen)
        except (TargetError, PluginError) as error:
            error.message = f"{error.message} (chosen by the environment: TILECORE_TARGET={chosen})"
            raise

    def _detects(self, kind: str) -> bool:
        entry = self.claims(kind)[0]
        try:
            loader = self._loader(kind)
            if self._is_here(entry):
                return self._is_present(entry, loader)
            told = self._told_elsewhere(entry, devices=True)
            if told.problem:
                self._pass_over(entry, told.problem)
                return False
            # it is the one to be used: what was remembered of its device is looked at once more
            return told.present and self._is_present(entry, loader)
        except PluginError as error:
            self._pass_over(entry, error.message)
            return False

    def _is_present(self, entry: Entry, loader: Loader) -> bool:
        presence = self._detected.get(entry)
        if presence is None:
            presence = self._detected[entry] = loader.target().detect()
        return presence.present

    def _pass_over(self, entry: Entry, why: str) -> None:
        if entry not in self._warned:
            self._warned.add(entry)
            warnings.warn(f'target "auto" passes over {entry.kind}: {why}', PluginWarning, stacklevel=5)


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
