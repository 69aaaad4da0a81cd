"""Wraps the loaded kernels and timers of a plugin's adapter: guards every call and checks every result."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import DimExpr
from tilecore.contract.adapter import LoadedKernel
from tilecore.plugins.answers import WORDS, check_fields, guarded_by
from tilecore.plugins.checking import FLAG, Rule, is_int, shown, takes, wrong
from tilecore.plugins.guard import guarded
from tilecore.tensors.dlpack import capsule_address

if TYPE_CHECKING:
    from tilecore.contract.origin import Origin

CODES = range(-(2**31), 2**31)
CODE = Rule("a 32-bit int: 0, or an error code", lambda value: value is None or (is_int(value) and value in CODES))
MILLISECONDS = Rule(
    "a number of milliseconds",
    lambda value: isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < math.inf,
)
ADDRESSES = range(2**64)
_MESSAGE_FUNCTION = Rule("a function of 1 argument, or None", lambda value: value is None or takes(1).holds(value))
LOADED = {
    "state": Rule("an address, an int", lambda value: is_int(value) and value in ADDRESSES),
    "error": _MESSAGE_FUNCTION,
    "advice": _MESSAGE_FUNCTION,
    "on_device": FLAG,
    "sizes": Rule(
        "a tuple of sizes: ints and DimExprs",
        lambda value: isinstance(value, tuple) and all(is_int(size) or isinstance(size, DimExpr) for size in value),
    ),
}


def guard_loaded(origin: Origin, what: str, loaded: Any, artifact: Any) -> LoadedKernel:
    """The checked and guarded LoadedKernel that ``what`` returned for an artifact."""
    if not isinstance(loaded, LoadedKernel):
        raise wrong(origin, f"{what} returned a wrong value", shown(loaded), "a LoadedKernel")
    check_fields(origin, f"{what} returned a wrong value: ", loaded, LOADED)
    _check_sizes(origin, what, loaded, artifact)
    changes: dict[str, Any] = {}
    if callable(loaded.launch):
        _check_signature(origin, what, loaded)
        changes["launch"] = guarded_by(origin, f"{what}().launch", loaded.launch, CODE)
    else:
        _check_capsule(origin, what, loaded)
    for name in ("error", "advice"):
        function = getattr(loaded, name)
        if function is not None:
            changes[name] = guarded_by(origin, f"{what}().{name}", function, WORDS)
    return replace(loaded, **changes)


def _check_sizes(origin: Origin, what: str, loaded: LoadedKernel, artifact: Any) -> None:
    symbols = {symbol.name for symbol in getattr(artifact, "symbols", ())}
    used = {name for size in loaded.sizes if isinstance(size, DimExpr) for name in size.names()}
    if used - symbols:
        message = f"{what} returned a LoadedKernel with sizes of unknown symbols"
        raise wrong(
            origin, message, ", ".join(sorted(used - symbols)), f"symbols among {', '.join(sorted(symbols)) or 'none'}"
        )


def _check_signature(origin: Origin, what: str, loaded: LoadedKernel) -> None:
    if not takes(4 if loaded.on_device else 3).holds(loaded.launch):
        raise _wrong_launch(origin, what, loaded)


def _check_capsule(origin: Origin, what: str, loaded: LoadedKernel) -> None:
    try:
        if type(loaded.launch).__name__ == "PyCapsule" and capsule_address(loaded.launch, loaded.capsule_name.encode()):
            return
    except ValueError:  # the capsule has another name
        pass
    raise _wrong_launch(origin, what, loaded)


def _wrong_launch(origin: Origin, what: str, loaded: LoadedKernel) -> Exception:
    arguments = "slots, grids, device, stream" if loaded.on_device else "slots, grids, stream"
    expected = f'a PyCapsule named "{loaded.capsule_name}" or a function({arguments})'
    return wrong(origin, f"{what} returned a LoadedKernel with a wrong launch", shown(loaded.launch), expected)


class GuardedTimer:
    """A plugin's timer, with every call guarded."""

    def __init__(self, origin: Origin, what: str, inner: Any) -> None:
        for name in ("start", "stop", "elapsed"):
            if not takes(0).holds(getattr(inner, name, None)):
                expected = "a timer with start(), stop() and elapsed()"
                raise wrong(origin, f"{what} returned a wrong value", shown(inner), expected)
        self.start = guarded(origin, f"{what}().start", inner.start)
        self.stop = guarded(origin, f"{what}().stop", inner.stop)
        self.elapsed = guarded_by(origin, f"{what}().elapsed", inner.elapsed, MILLISECONDS)
