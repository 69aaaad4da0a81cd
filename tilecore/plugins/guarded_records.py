"""The hooks' answers with every callable guarded and its result checked; the core sees only these."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilecore.errors import ToolchainError
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.passes import Pass, PassEdit
from tilecore.plugins.backend import (
    Capabilities,
    Codegen,
    Found,
    Installable,
    Lowering,
    Presence,
    TargetSpec,
    Toolchain,
)
from tilecore.plugins.checking import wrong
from tilecore.plugins.guard import Origin, guarded
from tilecore.target import Target


def guard_target(origin: Origin, spec: TargetSpec) -> TargetSpec:
    return replace(
        spec,
        capabilities=_wrap(origin, "TargetSpec.capabilities", spec.capabilities, Capabilities),
        detect=_wrap(origin, "TargetSpec.detect", spec.detect, Presence),
        resolve=_wrap(origin, "TargetSpec.resolve", spec.resolve, Target),
    )


def guard_lowering(origin: Origin, lowering: Lowering) -> Lowering:
    return replace(
        lowering,
        stand_in=_wrap(origin, "Lowering.stand_in", lowering.stand_in, dict),
        edits=tuple(_guard_edit(origin, edit) for edit in lowering.edits),
        implementations=tuple(_guard_implementation(origin, impl) for impl in lowering.implementations),
    )


def _guard_edit(origin: Origin, edit: Any) -> PassEdit:
    _check_element(origin, "Lowering.edits", edit, PassEdit)
    step = edit.step
    if step is None:
        return edit
    _check_element(origin, "PassEdit.step", step, Pass)
    return replace(edit, step=replace(step, run=_wrap_late(origin, f"pass {step.name}", step.run, _functions)))


def _guard_implementation(origin: Origin, impl: Any) -> TileOpImpl:
    _check_element(origin, "Lowering.implementations", impl, TileOpImpl)
    name = f"the implementation {impl.name} of T.{impl.op}"
    return replace(
        impl,
        matches=_wrap(origin, f"{name}: matches", impl.matches, str, type(None)),
        layouts=_wrap(origin, f"{name}: layouts", impl.layouts, dict),
        fragments=_wrap(origin, f"{name}: fragments", impl.fragments, dict),
        relate=_wrap(origin, f"{name}: relate", impl.relate, dict),
        lower=_wrap_late(origin, f"{name}: lower", impl.lower, _statements),
    )


def _functions() -> tuple[type, ...]:
    from tilecore.ir.nodes import IRModule, PrimFunc

    return PrimFunc, IRModule


def _statements() -> tuple[type, ...]:
    from tilecore.ir.nodes import Stmt

    return (Stmt,)


def guard_codegen(origin: Origin, codegen: Codegen) -> Codegen:
    """``register`` comes out as a function that does its work once, whoever calls it how often."""
    return replace(codegen, register=_once(guarded(origin, "Codegen.register", codegen.register)))


def guard_toolchain(origin: Origin, toolchain: Toolchain) -> Toolchain:
    return replace(
        toolchain,
        find=guarded(origin, "Toolchain.find", toolchain.find, lambda found: _check_found(origin, found)),
        build=guarded(origin, "Toolchain.build", toolchain.build, lambda built: _check_built(origin, built)),
        version=_wrap(origin, "Toolchain.version", toolchain.version, str),
        describe=_wrap(origin, "Toolchain.describe", toolchain.describe, Mapping),
        installable=_guard_installable(origin, toolchain.installable),
    )


def _guard_installable(origin: Origin, offer: Installable | None) -> Installable | None:
    if offer is None:
        return None
    return replace(
        offer,
        installed=_wrap(origin, "Installable.installed", offer.installed, str),
        install=_wrap(origin, "Installable.install", offer.install, str),
    )


def no_toolchain(origin: Origin) -> Toolchain:
    """For packages without ``tilecore_toolchain``: there is nothing to find and nothing can be built."""

    def build(request: Any) -> tuple[bytes, str]:
        raise ToolchainError(
            f'target "{origin.kind}" has no toolchain: package {origin.package} builds no binaries',
            hint="use an execution backend that loads the source itself",
        )

    return Toolchain(find=tuple, build=build)


def returns(origin: Origin, what: str, *types: type) -> Callable[[Any], Any]:
    """A check for :func:`~tilecore.plugins.guard.guarded`: the result is one of these types."""

    def check(result: Any) -> Any:
        if not isinstance(result, types):
            raise wrong(origin, f"{what} returned the wrong thing", repr(result)[:200], " or ".join(map(_name, types)))
        return result

    return check


def _wrap(origin: Origin, what: str, function: Callable[..., Any], *results: type) -> Any:
    return guarded(origin, what, function, returns(origin, what, *results))


def _wrap_late(origin: Origin, what: str, function: Callable[..., Any], results: Callable[[], tuple[type, ...]]) -> Any:
    """As :func:`_wrap`, with types of the IR, which are imported when the function has run."""
    return guarded(origin, what, function, lambda made: returns(origin, what, *results())(made))


def _check_element(origin: Origin, where: str, element: Any, kind: type) -> None:
    if not isinstance(element, kind):
        raise wrong(origin, f"{where} holds something else", repr(element)[:200], f"a {kind.__name__}")


def _name(kind: type) -> str:
    return "None" if kind is type(None) else kind.__name__


def _once(function: Callable[[], Any]) -> Callable[[], None]:
    """Calls through until it has succeeded once."""
    lock = threading.Lock()
    done = False

    def call() -> None:
        nonlocal done
        with lock:
            if not done:
                function()
                done = True

    return call


def _check_found(origin: Origin, found: Any) -> tuple[Found, ...]:
    if not isinstance(found, Sequence) or not all(isinstance(item, Found) for item in found):
        raise wrong(origin, "Toolchain.find returned the wrong thing", repr(found)[:200], "a list of Found")
    return tuple(found)


def _check_built(origin: Origin, built: Any) -> tuple[bytes, str]:
    whole = isinstance(built, tuple) and len(built) == 2 and isinstance(built[0], bytes) and isinstance(built[1], str)
    if not whole:
        raise wrong(origin, "Toolchain.build returned the wrong thing", repr(built)[:200], "(bytes, format)")
    return built
