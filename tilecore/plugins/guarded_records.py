"""Wraps the records that the hooks return: guards every function and checks every result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.contract.records import (
    Capabilities,
    Codegen,
    Installable,
    InstallRequest,
    Presence,
    TargetSpec,
    Toolchain,
)
from tilecore.errors import ToolchainError
from tilecore.plugins.answers import (
    FACTS,
    REASONS,
    REFUSALS,
    SENTENCES,
    WORDS,
    check_built,
    check_found,
    guarded_by,
    record,
)
from tilecore.plugins.checking import TEXT, Rule, is_int, shown, wrong
from tilecore.plugins.guard import guarded
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.contract.origin import Origin

TARGET = Rule("a Target", lambda value: isinstance(value, Target))


def guard_target(origin: Origin, spec: TargetSpec) -> TargetSpec:
    return replace(
        spec,
        capabilities=_record(origin, "TargetSpec.capabilities", spec.capabilities, Capabilities),
        detect=_record(origin, "TargetSpec.detect", spec.detect, Presence),
        resolve=guarded_by(origin, "TargetSpec.resolve", spec.resolve, TARGET),
        known_failures=guarded_by(origin, "TargetSpec.known_failures", spec.known_failures, REASONS),
        refused_names=guarded_by(origin, "TargetSpec.refused_names", spec.refused_names, REFUSALS),
    )


def guard_codegen(origin: Origin, codegen: Codegen) -> Codegen:
    """The guarded record; its ``register`` runs once, however often it is called."""
    return replace(codegen, register=_once(guarded(origin, "Codegen.register", codegen.register)))


def guard_toolchain(origin: Origin, toolchain: Toolchain) -> Toolchain:
    return replace(
        toolchain,
        find=guarded(origin, "Toolchain.find", toolchain.find, lambda tools: check_found(origin, tools)),
        build=guarded(origin, "Toolchain.build", toolchain.build, lambda built: check_built(origin, built)),
        version=guarded_by(origin, "Toolchain.version", toolchain.version, WORDS),
        describe=guarded_by(origin, "Toolchain.describe", toolchain.describe, FACTS),
        remarks=guarded_by(origin, "Toolchain.remarks", toolchain.remarks, SENTENCES),
        installable=_guard_installable(origin, toolchain.installable),
    )


def _guard_installable(origin: Origin, offer: Installable | None) -> Installable | None:
    if offer is None:
        return None
    installed = guarded_by(origin, "Installable.installed", offer.installed, WORDS)
    fetch = guarded_by(origin, "Installable.install", offer.install, TEXT)

    def install(request: InstallRequest) -> str:
        where: str = fetch(replace(request, progress=_checked_progress(origin, request.progress)))
        if not installed(request.folder):
            expected = f"an installation that Installable.installed finds in {request.folder}"
            raise wrong(origin, "Installable.install did not complete the installation", shown(where), expected)
        return where

    return replace(offer, installed=installed, install=install)


def _checked_progress(origin: Origin, progress: Callable[[str, int, int], None]) -> Callable[[str, int, int], None]:
    def checked(step: str, done: int, total: int) -> None:
        if not isinstance(step, str) or not is_int(done) or not is_int(total) or done < 0 or total < 0:
            found, expected = shown((step, done, total)), "a str and two ints, 0 or more"
            raise wrong(origin, "Installable.install called progress with wrong arguments", found, expected)
        progress(step, done, total)

    return checked


def no_toolchain(origin: Origin) -> Toolchain:
    """The toolchain of packages without ``tilecore_toolchain``: it finds no tools; building raises ToolchainError."""

    def build(request: Any) -> tuple[bytes, str]:
        raise ToolchainError(
            f'target "{origin.kind}" has no toolchain, so package {origin.package} cannot build binaries',
            hint="use an execution backend that loads the source itself",
        )

    return Toolchain(find=tuple, build=build)


def _record(origin: Origin, callee: str, function: Callable[..., Any], kind: type) -> Any:
    return guarded(origin, callee, function, record(origin, callee, kind))


def _once(function: Callable[[], Any]) -> Callable[[], None]:
    """A function that calls ``function`` until it has succeeded once."""
    lock = threading.Lock()
    done = False

    def call() -> None:
        nonlocal done
        with lock:
            if not done:
                function()
                done = True

    return call
