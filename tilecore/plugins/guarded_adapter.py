"""A KernelAdapter around a plugin's, with every call guarded and its result checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tilecore.plugins.backend import Presence
from tilecore.plugins.checking import wrong
from tilecore.plugins.guard import PASS, Origin, blame, guarded
from tilecore.plugins.guarded_records import returns
from tilecore.runtime.adapter import KernelAdapter, LoadedKernel

# Result types of the methods that have one; the results of the others are not looked at.
RESULTS: dict[str, tuple[type, ...]] = {
    "available": (Presence,),
    "torch_device": (str,),
    "largest_run": (int, type(None)),
}
METHODS = tuple(name for name, member in vars(KernelAdapter).items() if callable(member) and not name.startswith("_"))


def guard_adapter(origin: Origin, adapter: KernelAdapter) -> KernelAdapter:
    """The guarded adapter; ``inner`` is the plugin's own.

    Its class defines just the methods that the plugin's class overrides, so ``type(a).current_stream is
    KernelAdapter.current_stream`` still tells whether an adapter has streams.
    """
    overridden = [name for name in METHODS if _is_overridden(adapter, name)]
    members: dict[str, Any] = {name: _method(origin, adapter, name) for name in overridden}
    members["__module__"] = type(adapter).__module__
    made: Any = type(type(adapter).__name__, (_Guarded,), members)
    return made(adapter)


class _Guarded(KernelAdapter):
    def __init__(self, inner: KernelAdapter) -> None:
        self.inner = inner
        self.name = inner.name
        self.device = inner.device
        self.tensor_streams = bool(inner.tensor_streams)

    def available(self, target: Any) -> Presence:  # always replaced: the plugin's class had to define it
        raise NotImplementedError

    def load(self, artifact: Any) -> LoadedKernel:  # likewise
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _is_overridden(adapter: KernelAdapter, name: str) -> bool:
    return getattr(type(adapter), name) is not getattr(KernelAdapter, name) or name in getattr(adapter, "__dict__", ())


def _method(origin: Origin, adapter: KernelAdapter, name: str) -> Any:
    """A static method, as the plugin's bound method has its own self: one Python call more than the plugin's."""
    what = f"{adapter.name}.{name}"
    if name == "current_stream":
        return staticmethod(_stream(origin, what, adapter.current_stream))
    check: Callable[[Any], Any] | None = None
    if name == "load":
        check = lambda loaded: _check_loaded(origin, what, loaded)  # noqa: E731
    elif name == "binary_formats":
        check = lambda formats: check_formats(origin, what, formats)  # noqa: E731
    elif name in RESULTS:
        check = returns(origin, what, *RESULTS[name])
    call = guarded(origin, what, getattr(adapter, name), check)
    call.__doc__ = getattr(KernelAdapter, name).__doc__
    return staticmethod(call)


def _stream(origin: Origin, what: str, stream: Callable[[int], int]) -> Callable[[int], int]:
    """As ``guarded``, at a third of its cost: this one is called at every launch."""

    def current_stream(device_index: int) -> int:
        try:
            return stream(device_index)
        except PASS:
            raise
        except BaseException as error:
            raise blame(origin, what, error) from error

    return current_stream


def check_formats(origin: Origin, what: str, formats: Any) -> tuple[str, ...]:
    if isinstance(formats, str) or not isinstance(formats, Sequence) or not all(isinstance(f, str) for f in formats):
        raise wrong(origin, f"{what} returned the wrong thing", repr(formats)[:200], "a tuple of format names")
    return tuple(formats)


def _check_loaded(origin: Origin, what: str, loaded: Any) -> LoadedKernel:
    if not isinstance(loaded, LoadedKernel):
        raise wrong(origin, f"{what} returned the wrong thing", repr(loaded)[:200], "a LoadedKernel")
    changes: dict[str, Any] = {}
    if callable(loaded.launch):
        changes["launch"] = guarded(origin, f"{what}().launch", loaded.launch)
    elif type(loaded.launch).__name__ != "PyCapsule":
        arguments = "slots, grids, device, stream" if loaded.on_device else "slots, grids, stream"
        expected = f'a PyCapsule named "{loaded.capsule_name}" or a function({arguments})'
        raise wrong(origin, f"{what} returned a LoadedKernel with a wrong launch", repr(loaded.launch)[:200], expected)
    if loaded.error is not None:
        changes["error"] = guarded(origin, f"{what}().error", loaded.error, returns(origin, f"{what}().error", str))
    if loaded.advice is not None:
        changes["advice"] = guarded(origin, f"{what}().advice", loaded.advice, returns(origin, f"{what}().advice", str))
    return replace(loaded, **changes)
