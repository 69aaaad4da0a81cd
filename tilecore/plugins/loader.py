"""Loads the Backend of one entry point in stages: module, target, the other hooks. Each stage runs once.

Listings need only the target. ``tilecore_lowering`` is called last, on first use, as it is the only hook that may
import TVM: a kernel from the cache runs without TVM. Where tilecore-runtime is installed without the compiler,
``tilecore_codegen`` and ``tilecore_toolchain`` are called on first use, too: they may need the compiler's modules.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

from tilecore.contract import hookspecs
from tilecore.contract.adapter import KernelAdapter
from tilecore.contract.origin import remedy, title
from tilecore.contract.records import Backend, Codegen, Lowering, TargetSpec, Toolchain
from tilecore.errors import PluginError
from tilecore.installation import compiler_is_installed
from tilecore.plugins.checking import check_record, wrong
from tilecore.plugins.guard import calling
from tilecore.plugins.guarded_adapter import check_adapter, guard_adapter
from tilecore.plugins.guarded_records import guard_codegen, guard_target, guard_toolchain, no_toolchain
from tilecore.plugins.isolation import LoadReport, watched

if TYPE_CHECKING:
    from tilecore.plugins.discovery import Entry

HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("tilecore_"))
OPTIONAL = ("tilecore_toolchain",)


class Loader:
    """Loads one entry. Thread-safe; a failure is remembered and raised again on every later use."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.report: LoadReport | None = None
        self._hooks: Any = None
        self._target = Once(entry, self._load_target)
        self._backend = Once(entry, self._load_backend)
        self._stages = {
            "lowering": Once(entry, self._load_lowering),
            "codegen": Once(entry, self._load_codegen),
            "toolchain": Once(entry, self._load_toolchain),
        }

    @property
    def tried(self) -> bool:
        """Whether an import of the plugin's module has ended, with or without an error."""
        return self._target.settled

    def target(self) -> TargetSpec:
        """Import the plugin's module and call ``tilecore_target``. Raises PluginError."""
        return self._target.get()

    def backend(self) -> Backend:
        """The joined record. The lowering is loaded and checked when it is first read, without the compiler also the
        code generator and the toolchain. Raises PluginError."""
        return self._backend.get()

    def _load_target(self) -> TargetSpec:
        entry = self.entry
        with calling(entry, f"importing {entry.value}", loading=True):
            plugin, self.report = watched(title(entry), entry.load)
        self._hooks = _register(entry, plugin)
        spec = self._ask("tilecore_target", TargetSpec)
        return guard_target(entry, spec)

    def _load_backend(self) -> Backend:
        entry = self.entry
        fields: dict[str, Any] = {"package": entry.package, "version": entry.version, "target": self.target()}
        fields["module"], fields["registration"] = entry.value.partition(":")[0], entry.registration
        if compiler_is_installed():
            fields |= {name: self._stages[name].get() for name in ("codegen", "toolchain")}
        fields["adapters"] = self._load_adapters()
        return LoadedBackend.join(fields, self._stages)

    def _load_lowering(self) -> Lowering:
        from tilecore.plugins.guarded_lowering import guard_lowering

        return guard_lowering(self.entry, self._ask("tilecore_lowering", Lowering))

    def _load_codegen(self) -> Codegen:
        return guard_codegen(self.entry, self._ask("tilecore_codegen", Codegen))

    def _load_toolchain(self) -> Toolchain:
        if not self._has("tilecore_toolchain"):
            return no_toolchain(self.entry)
        return guard_toolchain(self.entry, self._ask("tilecore_toolchain", Toolchain))

    def _load_adapters(self) -> dict[str, KernelAdapter]:
        entry, hook = self.entry, "tilecore_adapters"
        answer = self._call(hook)
        if isinstance(answer, (str, bytes)) or not isinstance(answer, Sequence) or not answer:
            raise wrong(
                entry, f"{hook} must return at least one KernelAdapter", repr(answer)[:200], "a list of adapters"
            )
        adapters: dict[str, KernelAdapter] = {}
        for adapter in answer:
            if not isinstance(adapter, KernelAdapter):
                raise wrong(
                    entry,
                    f"{hook} returned an object that is not an adapter",
                    repr(adapter)[:200],
                    "KernelAdapter instances",
                )
            name, formats = check_adapter(entry, hook, adapter)
            if name in adapters:
                raise wrong(entry, f"{hook} returned two adapters named {name!r}", name, "one adapter for each name")
            if formats and not self._has("tilecore_toolchain"):
                reason = f"adapter {name!r} loads {', '.join(formats)}, and there is no tilecore_toolchain"
                raise wrong(entry, "an adapter loads binaries that nothing builds", reason, "a tilecore_toolchain hook")
            adapters[name] = guard_adapter(entry, adapter)
        return adapters

    def _has(self, hook: str) -> bool:
        return bool(getattr(self._hooks, hook).get_hookimpls())

    def _call(self, hook: str) -> Any:
        with calling(self.entry, hook, loading=True):
            return getattr(self._hooks, hook)()

    def _ask(self, hook: str, kind: type) -> Any:
        answer = self._call(hook)
        check_record(self.entry, hook, answer, kind)
        return answer


class LoadedBackend(Backend):
    """A Backend of which some fields are loaded when they are first read; equal only to itself."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @staticmethod
    def join(fields: dict[str, Any], stages: Mapping[str, Once]) -> LoadedBackend:
        """The backend of these fields, by name, and the stages that load the others."""
        backend = object.__new__(LoadedBackend)
        vars(backend).update(fields, _stages=stages)
        return backend

    def __getattr__(self, name: str) -> Any:
        stages = vars(self).get("_stages", {})
        if name not in stages:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return vars(self).setdefault(name, stages[name].get())

    def __repr__(self) -> str:
        return f"<backend {self.kind} of {self.package} {self.version}>"


class Once:
    """Runs a loading stage once, also with many threads, and keeps its result or error."""

    def __init__(self, entry: Entry, run: Callable[[], Any]) -> None:
        self._entry = entry
        self._run = run
        self._lock = threading.RLock()
        self._running = False
        self._result: Any = None
        self._failure: PluginError | None = None

    @property
    def settled(self) -> bool:
        return self._result is not None or self._failure is not None

    def get(self) -> Any:
        if self._result is not None:
            return self._result
        with self._lock:
            if self._failure is not None:
                raise _again(self._failure)
            if self._result is None:
                self._result = self._guarded_run()
            return self._result

    def _guarded_run(self) -> Any:
        if self._running:  # the same thread is running it: the lock is reentrant
            raise PluginError(
                f"{title(self._entry)}: it uses its own target while the target is being loaded",
                hint=f"a plugin must not compile or look up targets from its hooks; {remedy(self._entry)}",
            )
        self._running = True
        try:
            return self._run()
        except PluginError as error:
            self._failure = error
            raise
        finally:
            self._running = False


def _again(error: PluginError) -> PluginError:
    """A copy of the error: raising one object several times would extend its traceback."""
    copy = PluginError(error.message, found=error.found, expected=error.expected, hint=error.hint)
    copy.__cause__ = error.__cause__
    return copy


def _register(entry: Entry, plugin: Any) -> Any:
    """pluggy's hook caller for one plugin; pluggy checks names and signatures of the hooks. Raises PluginError."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    with calling(entry, f"registering {entry.value}", loading=True):
        try:
            manager.register(plugin)
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            raise _invalid(entry, plugin, error) from error
    missing = [h for h in HOOKS if h not in OPTIONAL and not getattr(manager.hook, h).get_hookimpls()]
    if missing:
        bare = [hook for hook in missing if callable(getattr(plugin, hook, None))]
        reason = f"{', '.join(bare)} without the @hookimpl decorator" if bare else f"no {', '.join(missing)}"
        expected = f"@hookimpl functions {', '.join(h for h in HOOKS if h not in OPTIONAL)}"
        raise wrong(entry, f"{entry.value} lacks a hook that every backend needs", reason, expected)
    return manager.hook


def _invalid(entry: Entry, plugin: Any, error: Exception) -> PluginError:
    import difflib

    names = [name for name in dir(plugin) if name.startswith("tilecore_") and name not in HOOKS]
    close = [match for name in names for match in difflib.get_close_matches(name, HOOKS, 1, 0.85)]
    reason = " ".join(line.strip() for line in str(error).splitlines() if line.strip())
    expected = f"{close[0]}()" if close else f"hooks {', '.join(HOOKS)}, all without arguments"
    message = f"{title(entry)}: {entry.value} defines a hook that does not fit the contract"
    return PluginError(message, found=reason, expected=expected, hint=remedy(entry, None if close else error))


def kind_of(entry: Entry) -> str:
    """The kind in a plugin's TargetSpec, for a plugin that is registered without a kind."""
    with calling(entry, f"importing {entry.value}", loading=True):
        plugin = entry.load()
    hooks = _register(entry, plugin)
    with calling(entry, "tilecore_target", loading=True):
        spec = hooks.tilecore_target()
    if not isinstance(spec, TargetSpec) or not isinstance(spec.kind, str):
        raise wrong(entry, "tilecore_target must return a TargetSpec", repr(spec)[:200], "a TargetSpec")
    return spec.kind
