"""Functions of users that change emitted source before it is compiled, by target kind.

``register_postproc("acme", function)``: from then on ``function(source, target)`` returns the text that is built
instead. The functions are no part of a kernel's source, so their registrations are a part of cache keys: kernels that
were compiled without them, or with others, are compiled again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from tilecore.errors import ArgumentError
from tilecore.target import Target

SourceCallback = Callable[[str, Target], str]  # a function (source, target) that returns the source to build
_callbacks: dict[str, tuple[str, SourceCallback]] = {}  # by kind, with a text that no other registration has


def register_postproc(kind: str, func: SourceCallback, override: bool = True) -> SourceCallback:
    """Let ``func(source, target)`` change the source of every kernel for targets of this kind; returns ``func``.

    override: replace a function that is registered already; else that raises ArgumentError.
    """
    if not callable(func):
        raise ArgumentError("the source callback is not a function", found=repr(func), expected="def f(source, target)")
    if kind in _callbacks and not override:
        raise ArgumentError(f"target {kind!r} has a source callback already", hint="override=True replaces it")
    _callbacks[kind] = secrets.token_hex(8), func
    return func


def remove_postproc(kind: str) -> None:
    """Undo :func:`register_postproc`; nothing where no function is registered."""
    _callbacks.pop(kind, None)


def register_postproc_callback(kind: str, func: Any = None, override: bool = True) -> Any:
    """:func:`register_postproc` as a decorator: bare, called, or called with ``override`` as the only argument."""
    if callable(func):
        return register_postproc(kind, func, override)
    if func is not None and not isinstance(func, bool):
        raise ArgumentError("the source callback is not a function", found=repr(func), expected="def f(source, target)")
    chosen = override if func is None else func
    return lambda function: register_postproc(kind, function, chosen)


def registration_of(kind: str) -> str:
    """A text that is different for each registration; "" where no function is registered for the kind."""
    return _callbacks[kind][0] if kind in _callbacks else ""


def changed_source(source: str, target: Target) -> str:
    """The source as the function of the target's kind returns it; the same where none is registered.

    Raises ArgumentError where the function returns no text.
    """
    if target.kind not in _callbacks:
        return source
    changed = _callbacks[target.kind][1](source, target)
    if not isinstance(changed, str) or not changed.strip():
        raise ArgumentError(
            f"the source callback of target {target.kind!r} returned no source",
            found=repr(changed)[:80],
            expected="a str",
        )
    return changed
