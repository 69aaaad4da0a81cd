"""Wraps a plugin's KernelAdapter, its loaded kernels and its timers: guards every call and checks every result."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import DimExpr
from tilecore.contract.adapter import INTERPRETED, ForeignTensor, HostCode, KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError
from tilecore.plugins.answers import WORDS, check_fields, guarded_by, obeys, record
from tilecore.plugins.checking import AUTO, FLAG, TEXT, Rule, is_int, shown, takes, wrong
from tilecore.plugins.guard import PASS, blame, calling, guarded
from tilecore.target import Target
from tilecore.tensors.device_array import DeviceMemory
from tilecore.tensors.dlpack import capsule_address
from tilecore.tensors.views import is_tensor

if TYPE_CHECKING:
    from tilecore.contract.origin import Origin

CODES = range(-(2**31), 2**31)
CODE = Rule("a 32-bit int: 0, or an error code", lambda value: value is None or (is_int(value) and value in CODES))
MILLISECONDS = Rule(
    "a number of milliseconds",
    lambda value: isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < math.inf,
)
ADDRESSES = range(2**64)
_FAILURE = Rule("a str, or a LaunchError", lambda value: isinstance(value, (str, LaunchError)))
_MESSAGE_FUNCTION = Rule("a function of 1 argument, or None", lambda value: value is None or takes(1).holds(value))
LOADED = {
    "state": Rule("an address, an int", lambda value: is_int(value) and value in ADDRESSES),
    "error": _MESSAGE_FUNCTION,
    "advice": _MESSAGE_FUNCTION,
    "on_device": FLAG,
    "takes_tensors": FLAG,
    "sizes": Rule(
        "a tuple of sizes: ints and DimExprs",
        lambda value: isinstance(value, tuple) and all(is_int(size) or isinstance(size, DimExpr) for size in value),
    ),
}
# rules for the results of methods
RESULTS = {
    "torch_device": TEXT,
    "largest_run": Rule("an int, 1 or more, or None", lambda value: value is None or (is_int(value) and value > 0)),
    "capture": Rule("the id of a capture, an int, 0 or more", lambda value: is_int(value) and value >= 0),
    "empty": Rule("a tensor", is_tensor),
    "allocate": Rule("a DeviceMemory, or None", lambda value: value is None or isinstance(value, DeviceMemory)),
    "device_ranges": Rule(
        "a function of a name and a function without arguments, or None",
        lambda value: value is None or (isinstance(value, tuple) and len(value) == 2 and all(map(callable, value))),
    ),
    "target": Rule("a Target", lambda value: isinstance(value, Target)),
    "machine": Rule("text, which may be empty", lambda value: isinstance(value, str)),
    "fit": Rule("an int, 0 or more", lambda value: is_int(value) and value >= 0),
}
ATTRIBUTES = {
    "name": TEXT,
    "device": Rule(
        "a DLPack device type, a positive int, or None", lambda value: value is None or (is_int(value) and value > 0)
    ),
    "tensor_streams": FLAG,
    "simulates": FLAG,
    "host_tensors": FLAG,
}
RESERVED = (AUTO, INTERPRETED)  # names of execution backends that tilecore itself gives a meaning
METHODS = tuple(name for name, member in vars(KernelAdapter).items() if callable(member) and not name.startswith("_"))


def check_adapter(origin: Origin, hook: str, adapter: KernelAdapter) -> tuple[str, tuple[str, ...]]:
    """Check an adapter that a hook returned; its name and the binary formats that it loads."""
    name = getattr(adapter, "name", None)
    if not isinstance(name, str) or not name:
        raise wrong(origin, f"{hook}: an adapter has no name", shown(name), "a non-empty str in the attribute name")
    check_fields(origin, f"{hook}: ", adapter, ATTRIBUTES)
    if name.strip() in RESERVED:
        expected = f"another name: {' and '.join(map(repr, RESERVED))} have a meaning on every target"
        raise wrong(origin, f"{hook}: field 'name' of {type(adapter).__name__} is reserved", repr(name), expected)
    callee = f"{name}.binary_formats"
    with calling(origin, callee, loading=True):
        formats = adapter.binary_formats()
    return name, check_formats(origin, callee, formats)


def guard_adapter(origin: Origin, adapter: KernelAdapter) -> KernelAdapter:
    """The guarded adapter; its ``inner`` is the plugin's adapter.

    Its class defines only the methods that the plugin's class overrides, so ``type(a).current_stream is
    KernelAdapter.current_stream`` still holds for an adapter without streams.
    """
    overridden = [name for name in METHODS if _is_overridden(adapter, name)]
    members: dict[str, Any] = {name: _method(origin, adapter, name) for name in overridden}
    members["__module__"] = type(adapter).__module__
    guarded_class: Any = type(type(adapter).__name__, (_Guarded,), members)
    return guarded_class(adapter, origin)


class _Guarded(KernelAdapter):
    def __init__(self, inner: KernelAdapter, origin: Origin) -> None:
        self.inner = inner
        self.origin = origin
        self.name = inner.name
        self.device = inner.device
        self.tensor_streams = inner.tensor_streams
        self.simulates = inner.simulates
        self.host_tensors = inner.host_tensors

    def available(self, target: Any) -> Presence:  # always replaced: the plugin's class must define it
        raise NotImplementedError

    def load(self, artifact: Any) -> LoadedKernel:  # likewise
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _is_overridden(adapter: KernelAdapter, name: str) -> bool:
    return getattr(type(adapter), name) is not getattr(KernelAdapter, name) or name in getattr(adapter, "__dict__", ())


def _method(origin: Origin, adapter: KernelAdapter, name: str) -> Any:
    """The guarded method, as a static method: the plugin's bound method has its own self."""
    callee = f"{adapter.name}.{name}"
    if name == "current_stream":
        return staticmethod(_stream(origin, callee, adapter.current_stream))
    if name == "load":
        return staticmethod(_load(origin, callee, adapter.load))
    check: Callable[[Any], Any] | None = None
    if name == "foreign_tensor":
        check = lambda tensor: None if tensor is None else record(origin, callee, ForeignTensor)(tensor)  # noqa: E731
    elif name == "host_code":
        check = lambda code: None if code is None else record(origin, callee, HostCode)(code)  # noqa: E731
    elif name == "available":
        check = record(origin, callee, Presence)
    elif name == "binary_formats":
        check = lambda formats: check_formats(origin, callee, formats)  # noqa: E731
    elif name == "timer":
        check = lambda timer: GuardedTimer(origin, callee, timer)  # noqa: E731
    elif name in RESULTS:
        check = obeys(origin, callee, RESULTS[name])
    call = guarded(origin, callee, getattr(adapter, name), check)
    call.__doc__ = getattr(KernelAdapter, name).__doc__
    return staticmethod(call)


def _load(origin: Origin, callee: str, load: Callable[[Any], LoadedKernel]) -> Callable[[Any], LoadedKernel]:
    call = guarded(origin, callee, load)
    shared: dict[Any, Any] = {}
    return lambda artifact: guard_loaded(origin, callee, call(artifact), artifact, shared)


def _stream(origin: Origin, callee: str, stream: Callable[[int], int]) -> Callable[[int], int]:
    """Like ``guarded`` at a third of the cost, because it is called at every launch."""

    def current_stream(device_index: int) -> int:
        try:
            stream_handle = stream(device_index)
        except PASS:
            raise
        except BaseException as error:
            raise blame(origin, callee, error) from error
        if type(stream_handle) is int and stream_handle >= 0:
            return stream_handle
        raise wrong(origin, f"{callee} returned a wrong value", shown(stream_handle), "a stream as an int, 0 or more")

    return current_stream


def check_formats(origin: Origin, callee: str, formats: Any) -> tuple[str, ...]:
    if isinstance(formats, str) or not isinstance(formats, Sequence) or not all(isinstance(f, str) for f in formats):
        raise wrong(origin, f"{callee} returned a wrong value", shown(formats), "a tuple of format names")
    return tuple(formats)


def guard_loaded(
    origin: Origin, callee: str, loaded: Any, artifact: Any, shared: dict[Any, Any] | None = None
) -> LoadedKernel:
    """The checked and guarded LoadedKernel that ``callee`` returned for an artifact. shared: keeps the guarded
    functions that all kernels of the adapter use."""
    if not isinstance(loaded, LoadedKernel):
        raise wrong(origin, f"{callee} returned a wrong value", shown(loaded), "a LoadedKernel")
    check_fields(origin, f"{callee} returned a wrong value: ", loaded, LOADED)
    _check_sizes(origin, callee, loaded, artifact)
    changes: dict[str, Any] = {}
    if callable(loaded.launch):
        _check_signature(origin, callee, loaded)
        changes["launch"] = guarded_by(origin, f"{callee}().launch", loaded.launch, CODE)
    else:
        _check_capsule(origin, callee, loaded)
    for name, rule in (("error", _FAILURE), ("advice", WORDS)):
        function = getattr(loaded, name)
        if function is None:
            continue
        key = (name, id(function))
        kept = shared if shared is not None and _is_of_module(function) else {}
        if key not in kept:
            kept[key] = guarded_by(origin, f"{callee}().{name}", function, rule)
        changes[name] = kept[key]
    return replace(loaded, **changes)


def _is_of_module(function: Any) -> bool:
    """Whether it is the function that its module has by this name, and so no kernel's own."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    return module is not None and vars(module).get(getattr(function, "__qualname__", "")) is function


def _check_sizes(origin: Origin, callee: str, loaded: LoadedKernel, artifact: Any) -> None:
    symbols = {symbol.name for symbol in getattr(artifact, "symbols", ())}
    used = {name for size in loaded.sizes if isinstance(size, DimExpr) for name in size.names()}
    if used - symbols:
        message = f"{callee} returned a LoadedKernel with sizes of unknown symbols"
        raise wrong(
            origin, message, ", ".join(sorted(used - symbols)), f"symbols among {', '.join(sorted(symbols)) or 'none'}"
        )


def _check_signature(origin: Origin, callee: str, loaded: LoadedKernel) -> None:
    if not takes(3 + loaded.on_device + loaded.takes_tensors).holds(loaded.launch):
        raise _wrong_launch(origin, callee, loaded)


def _check_capsule(origin: Origin, callee: str, loaded: LoadedKernel) -> None:
    try:
        is_capsule = type(loaded.launch).__name__ == "PyCapsule" and not loaded.takes_tensors
        if is_capsule and capsule_address(loaded.launch, loaded.capsule_name.encode()):
            return
    except ValueError:  # the capsule has another name
        pass
    raise _wrong_launch(origin, callee, loaded)


def _wrong_launch(origin: Origin, callee: str, loaded: LoadedKernel) -> Exception:
    arguments = "slots, grids, device, stream" if loaded.on_device else "slots, grids, stream"
    expected = f'a PyCapsule named "{loaded.capsule_name}" or a function({arguments})'
    if loaded.takes_tensors:
        expected = f"a function({arguments}, tensors)"
    return wrong(origin, f"{callee} returned a LoadedKernel with a wrong launch", shown(loaded.launch), expected)


class GuardedTimer:
    """A plugin's timer, with every call guarded."""

    def __init__(self, origin: Origin, callee: str, inner: Any) -> None:
        for name in ("start", "stop", "elapsed"):
            if not takes(0).holds(getattr(inner, name, None)):
                expected = "a timer with start(), stop() and elapsed()"
                raise wrong(origin, f"{callee} returned a wrong value", shown(inner), expected)
        self.start = guarded(origin, f"{callee}().start", inner.start)
        self.stop = guarded(origin, f"{callee}().stop", inner.stop)
        self.elapsed = guarded_by(origin, f"{callee}().elapsed", inner.elapsed, MILLISECONDS)
