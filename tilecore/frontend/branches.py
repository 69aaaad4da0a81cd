"""``if`` in a kernel, and the check that no Python name smuggles a value out of a loop or branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.errors import LanguageError
from tilecore.frontend.builder import Builder, Frame
from tilecore.ir.nodes import IfThenElse
from tilecore.language.buffers import LocalVar
from tilecore.language.conditions import as_condition
from tilecore.language.values import is_kernel_value

Probe = tuple[tuple[str, Callable[[], Any]], ...]
_missing = object()


class Branches:
    """One ``if``: decided by Python when its test is a Python value, else both sides are built."""

    def __init__(self, builder: Builder, test: Any, probe: Probe) -> None:
        self.builder = builder
        self.dynamic = is_kernel_value(test)
        self.probe = probe
        self.place = builder.place
        self.span = builder.span
        self.sides: dict[str, Frame] = {}
        if self.dynamic:
            self.test = as_condition(test)
            self.before = snapshot(probe)
        else:
            self.taken = bool(test)

    def enter_then(self) -> bool:
        return self._enter("then", not self.dynamic and self.taken)

    def enter_else(self) -> bool:
        return self._enter("else", not self.dynamic and not self.taken)

    def _enter(self, side: str, static: bool) -> bool:
        if self.dynamic:
            frame = Frame("branch")
            self.sides[side] = frame
            self.builder.frames.append(frame)
            return True
        return static

    def leave(self) -> None:
        if self.dynamic:
            self.builder.frames.pop()
            place, self.builder.place = self.builder.place, self.place
            check_carried(self.probe, self.before, self.builder, "an `if`")
            self.builder.place = place

    def done(self) -> None:
        if not self.dynamic:
            return
        orelse = self.sides.get("else")
        other = orelse.body() if orelse is not None and orelse.statements else None
        self.builder.emit(IfThenElse(self.test, self.sides["then"].body(), other, span=self.span))


def snapshot(probe: Probe) -> dict[str, Any]:
    return {name: _value(read) for name, read in probe}


def _value(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except NameError:
        return _missing


def check_carried(probe: Probe, before: dict[str, Any], builder: Builder, where: str) -> None:
    """Refuse a name whose value was changed inside ``where`` and is read after it or by the next iteration."""
    for name, read in probe:
        old, new = before[name], _value(read)
        if new is old or new is _missing or isinstance(new, LocalVar):
            continue
        if not is_kernel_value(new) and (old is _missing or _same(old, new)):
            continue
        raise LanguageError(
            f"`{name}` is assigned inside {where} that runs in the kernel, and its value is used "
            + ("after it" if where == "an `if`" else "after it or in its next iteration"),
            expected="a variable of the kernel for a value that changes",
            hint=f"make it one before: {name} = T.alloc_var(dtype, init=...)"
            + (", or use T.if_then_else(condition, a, b)" if where == "an `if`" else ""),
        ).at(builder.location)


def _same(old: Any, new: Any) -> bool:
    if is_kernel_value(old):
        return False
    try:
        return bool(old == new)
    except Exception:
        return False
