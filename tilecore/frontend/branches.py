"""``if`` in a kernel, and the check that no Python name carries a value out of a loop or branch."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from tilecore.errors import LanguageError
from tilecore.frontend.python_content import MISSING, PLAIN, same_plain
from tilecore.frontend.python_state import Watch
from tilecore.ir.nodes import IfThenElse, TensorRegion
from tilecore.language.buffers import BufferHandle, LocalVar
from tilecore.language.conditions import as_condition
from tilecore.language.values import is_kernel_value
from tilecore.tracing.builder import Builder, Frame

# names whose values flow out of a statement or around a loop, each with a function that reads it; all names that the
# statement assigns; and the names of the first group that are read after it
Probe = tuple[tuple[tuple[str, Callable[[], Any]], ...], tuple[str, ...], tuple[str, ...]]
AN_IF = "an `if`"


class Staged:
    """A loop, or a side of an ``if``, that the kernel runs: checks that its body changes no Python names and data.

    Use ``with staged:`` around the building of the body, and call ``check()`` afterwards.
    """

    def __init__(
        self, builder: Builder, probe: Probe, where: str, frame: FrameType, may_not_run: bool = False
    ) -> None:  # fmt: skip
        self.builder, self.probe, self.where, self.place = builder, probe, where, builder.place
        self.before = snapshot(probe)
        self.may_be_unset = set(self.before) if may_not_run else set()  # names that may have no value afterwards
        self.watch = Watch(frame, probe[1])

    def __enter__(self) -> Staged:
        if self.where != AN_IF:
            self.builder.loops.append(self)
        self.builder.watches.append(self.watch)
        return self

    def __exit__(self, *error: Any) -> None:
        if self.where != AN_IF:
            self.builder.loops.remove(self)
        self.builder.watches.remove(self.watch)

    def note_jump(self) -> None:
        """Notes that an iteration may end here, so that names without a value may stay without one."""
        self.may_be_unset |= {name for name, value in snapshot(self.probe).items() if value is MISSING}

    def check(self) -> None:
        place, self.builder.place = self.builder.place, self.place
        self._check_carried()
        self.watch.check(self.builder, self.where)
        if self.where == AN_IF:
            self.builder.place = place

    def _check_carried(self) -> None:
        """Raise LanguageError for a name whose value changes inside and is read after it or by the next iteration.

        The same for a name that gets its first value inside, is read after it, and may get none. The next iteration
        cannot read such a name before it assigns it: Python runs the body once and would have raised a NameError.
        """
        for name, read in self.probe[0]:
            old, new = self.before[name], _value(read)
            if new is old or isinstance(new, LocalVar) or (old is MISSING and name not in self.probe[2]):
                continue
            no_value = old is MISSING and name in self.may_be_unset
            plain = new is not MISSING and not is_kernel_value(new)
            if plain and not no_value and (old is MISSING or _same(old, new)):
                continue
            reason = "a loop that may run no iteration or leave one early, so that the name may have no value"
            raise _refusal(name, self.where, new, reason if no_value else None).at(self.builder.location)


class Branches:
    """One ``if``: decided by Python when its test is a Python value, else both sides are built."""

    def __init__(
        self, builder: Builder, test: Any, probe: Probe, assigned: tuple[tuple[str, ...], tuple[str, ...]],
        frame: FrameType,
    ) -> None:  # fmt: skip
        self.builder = builder
        self.assigned = dict(zip(("then", "else"), assigned, strict=True))
        self.values: dict[str, dict[str, Any]] = {}  # of the probed names, after each side
        self.dynamic = is_kernel_value(test)
        self.span = builder.span
        self.sides: dict[str, Frame] = {}
        if self.dynamic:
            self.test = as_condition(test)
            self.staged = Staged(builder, probe, AN_IF, frame)
        else:
            self.taken = bool(test)

    def enter_then(self) -> bool:
        return self._enter("then", not self.dynamic and self.taken)

    def enter_else(self) -> bool:
        return self._enter("else", not self.dynamic and not self.taken)

    def _enter(self, side: str, static: bool) -> bool:
        if self.dynamic:
            self.builder.name_pending()
            frame = Frame("branch", condition=self.test)
            self.sides[side] = frame
            self.builder.frames.append(frame)
            self.staged.__enter__()
            return True
        return static

    def leave(self) -> None:
        """Close the side that is open."""
        if self.dynamic:
            side = "else" if "else" in self.sides else "then"
            self.builder.close(self.sides[side])
            self.staged.__exit__()
            self.staged.check()
            self.values[side] = snapshot(self.staged.probe)

    def done(self) -> None:
        """Build the statement from its sides."""
        if not self.dynamic:
            return
        self._check_sides()
        orelse = self.sides.get("else")
        other = orelse.body() if orelse is not None and orelse.statements else None
        self.builder.emit(IfThenElse(self.test, self.sides["then"].body(), other, span=self.span))

    def _check_sides(self) -> None:
        """Raise LanguageError for a name without a value before that is read after, unless all sides assign the same.

        A side that ends in `break` or `continue` does not count.
        """
        reaching = [side for side in ("then", "else") if side not in self.sides or not self.sides[side].closed]
        for name, _ in self.staged.probe[0]:
            if self.staged.before[name] is not MISSING:
                continue
            assigning = [side for side in reaching if name in self.assigned[side]]
            values = [self.values[side][name] for side in assigning]
            if assigning and (len(assigning) < len(reaching) or not all(_same(values[0], value) for value in values)):
                self.builder.place = self.staged.place
                reason = (
                    "a different value on each side" if len(assigning) == len(reaching) else "a value on one side only"
                )
                raise _refusal(name, AN_IF, values[0], reason).at(self.builder.location)


def snapshot(probe: Probe) -> dict[str, Any]:
    """The current values of the names whose values flow out of a statement or around a loop."""
    return {name: _value(read) for name, read in probe[0]}


def _value(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except NameError:
        return MISSING


def _refusal(name: str, where: str, value: Any, reason: str | None = None) -> LanguageError:
    message = f"`{name}` is assigned inside {where} that runs in the kernel, and its value is used "
    message += "after it" if where == AN_IF else "after it or in its next iteration"
    if isinstance(value, (BufferHandle, TensorRegion)):
        return LanguageError(
            message,
            found="a buffer" + (f", and {reason}" if reason else ""),
            expected="a buffer that the kernel has on every path",
            hint=f"allocate it before, as in {name} = T.alloc_shared(shape, dtype), or use it inside only",
        )
    return LanguageError(
        message,
        found=reason,
        expected="a variable of the kernel (T.alloc_var) for a value that changes",
        hint=f"declare it before: {name} = T.alloc_var(dtype, init=...)"
        + (", or use T.if_then_else(condition, a, b)" if where == AN_IF else ""),
    )


def _same(old: Any, new: Any) -> bool:
    if same_plain(old, new):
        return True
    if is_kernel_value(old) or type(old) is not type(new) or isinstance(old, PLAIN):
        return False
    if isinstance(old, (list, tuple)):
        return len(old) == len(new) and all(map(_same, old, new))
    try:
        return bool(old == new)
    except Exception:
        return False
