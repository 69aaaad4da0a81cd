"""Judges calls of functions of the package: keywords, and texts that name an execution backend or a target."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, get_args

from tilecore.errors import TilecoreError
from tilecore.nearest import did_you_mean
from tilecore.porting.lookup import parts
from tilecore.porting.report import Finding
from tilecore.porting.uses import Use
from tilecore.signatures import signature_of


def of_call(use: Use, function: Any) -> Iterator[Finding]:
    """Keywords that the function does not take, and texts that name an execution backend or a target."""
    try:
        parameters = signature_of(function).parameters
    except (TypeError, ValueError):
        return
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    known = {*parameters, *getattr(function, "also_named", ())}
    for name in use.keywords or ():
        if not takes_all and name not in known:
            problem = f"{use.written} has no parameter {name!r}"
            yield Finding(use.line, use.column, f"{use.written}({name}=...)", problem, _near(name, parameters))
    for name, text in use.texts:
        if name == "execution_backend":
            yield from _of_execution_backend(use, text)
        if name == "target":
            yield from _of_target(use, text)


def _near(name: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    shown = [f"**{other}" if p.kind is p.VAR_KEYWORD else other for other, p in parameters.items() if other[0] != "_"]
    if not shown:
        return "it takes no arguments"
    listed = f"its parameters are {', '.join(shown)}"
    close = did_you_mean(name, parameters)
    return f"{close} {listed}" if close else listed


def _of_target(use: Use, text: str) -> Iterator[Finding]:
    from tilecore.plugins import manager

    try:
        manager.resolve(text)
    except TilecoreError as error:
        yield Finding(use.line, use.column, f"{use.written}(target={text!r})", *parts(error))


def _of_execution_backend(use: Use, name: str) -> Iterator[Finding]:
    from tilecore.jit.execution_names import ExecutionBackend

    usual = get_args(ExecutionBackend)
    if name in usual:  # without a look at the backends
        return
    own = _own_execution_backends()
    if name not in own:
        advice = did_you_mean(name, [*usual, *sorted(own)]) or 'leave it out, or "auto"'
        place = f"{use.written}(execution_backend={name!r})"
        yield Finding(use.line, use.column, place, f"no installed target has the execution backend {name!r}", advice)


def _own_execution_backends() -> set[str]:
    """The names of the installed backends' own execution backends."""
    from tilecore.plugins import manager

    names: set[str] = set()
    for kind in manager.kinds():
        with suppress(TilecoreError):  # a broken backend
            names |= set(manager.get(kind).adapters)
    return names
