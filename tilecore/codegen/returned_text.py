"""Checks that the methods of a backend's emitter, and the functions of its dialect, return text."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tilecore.codegen.text import Text
from tilecore.errors import PluginError

_CORE = "tilecore.codegen."
_EXPECTED = {"Text": "a Text, the emitted text with its precedence", "str": "a str, the emitted text"}


def check_text(text: Any, kind: str, expected: str, name: str) -> Any:
    """``text`` itself. Raises PluginError unless it is a Text or a str.

    kind: of the target. expected: "Text" or "str". name: of the function that returned it.
    """
    if isinstance(text, (Text, str)):
        return text
    from tilecore.plugins import manager  # for errors only
    from tilecore.plugins.checking import shown, wrong

    message = f"{name} returned a wrong value"
    owners = manager.claims(kind)
    if len(owners) == 1:
        raise wrong(owners[0], message, shown(text), _EXPECTED[expected])
    raise PluginError(f"target {kind!r}: {message}", found=shown(text), expected=_EXPECTED[expected])


def check_methods(cls: type) -> None:
    """Makes the methods of a backend's emitter that override one of tilecore's, and return text, check what they
    return."""
    if cls.__module__.startswith(_CORE):
        return
    for name, method in list(vars(cls).items()):
        expected = _annotation(cls, name)
        if expected in _EXPECTED and callable(method):
            setattr(cls, name, _checked(method, expected, f"{cls.__name__}.{name}"))


def _annotation(cls: type, name: str) -> str:
    """What the method of tilecore that ``name`` overrides returns; "" where there is none."""
    for base in cls.__mro__[1:]:
        method = vars(base).get(name)
        if base.__module__.startswith(_CORE) and callable(method):
            return str(getattr(method, "__annotations__", {}).get("return", ""))
    return ""


def _checked(method: Callable[..., Any], expected: str, name: str) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        text = method(self, *args, **keywords)
        return text if isinstance(text, (Text, str)) else check_text(text, self.dialect.kind, expected, name)

    return call
