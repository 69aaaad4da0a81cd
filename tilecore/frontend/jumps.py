"""Hooks for what leaves a block before its end: ``break``, ``continue``, exceptions and context managers."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import Break, Continue
from tilecore.tracing.current import current

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder, Frame


def break_(in_finally: bool) -> bool:
    """``break``. in_finally: a ``try`` with a ``finally`` encloses it within the loop."""
    return _jump("break", Break, in_finally)


def continue_(in_finally: bool) -> bool:
    """``continue``. in_finally: as for ``break``."""
    return _jump("continue", Continue, in_finally)


def _jump(statement: str, node: Any, in_finally: bool) -> bool:
    """Build the jump, or return True when Python runs the loop and must take the jump itself."""
    builder = current()
    for frame in reversed(builder.frames):
        of_kernel = builder.frame.kind == "branch" and builder.frames.index(builder.frame) > builder.frames.index(frame)
        if frame.kind == "first_iteration":
            if not of_kernel:
                return True
            frame.facts["become_loop"]()
        if frame.kind == "unrolled":
            if of_kernel:
                raise LanguageError(
                    f"`{statement}` of a Python loop stands in an `if` whose condition is a value of the kernel",
                    hint="use a loop that runs in the kernel: T.serial, `while True:`, or a `while` whose condition is "
                    "a value of the kernel",
                ).at(builder.location)
            return True
        if frame.kind == "loop":
            _check_jump(builder, frame, statement, in_finally)
            builder.emit(node(span=builder.span))
            if builder.loops:
                builder.loops[-1].note_jump()
            builder.frame.closed = True
            return False
        if frame.kind in ("kernel", "function"):
            break
    raise LanguageError(f"`{statement}` stands outside a loop").at(builder.location)


def _check_jump(builder: Builder, loop: Frame, statement: str, in_finally: bool) -> None:
    """Raise LanguageError for a jump in a loop of the kernel that would differ from Python's."""
    if loop.facts.get("parallel") and statement == "break":
        raise LanguageError(
            "`break` stands in a T.Parallel loop, whose iterations have no order", hint="loop with T.serial"
        ).at(builder.location)
    if loop.facts.get("entered"):
        raise LanguageError(
            f"`{statement}` stands in a loop that is entered by `with`, and Python applies it to the enclosing loop",
            expected=f"`{statement}` in a `for` or `while`",
            hint="write the loop as `for i in T.serial(n):`",
        ).at(builder.location)
    inside = builder.frames.index(loop) + 1
    if in_finally or any(depth >= inside for depth in builder.managers):
        skipped = "a `finally`" if in_finally else "the end of a `with`"
        raise LanguageError(
            f"`{statement}` on a condition of the kernel would skip {skipped} within the loop",
            expected=f"`{statement}` outside the {'`try`' if in_finally else '`with`'}, or in a loop that Python runs",
            hint="guard the rest of the body with `if`, and put what must run in each iteration after it",
        ).at(builder.location)


def caught(depth: int) -> None:
    """The start of an ``except`` clause: a LanguageError where the caught exception left a block of the kernel. depth:
    the number of open blocks where the ``try`` begins."""
    current().check_lost(depth, sys.exc_info()[1])


def finally_() -> None:
    """The start of a ``finally`` clause: an error that is being raised gets its location."""
    _note_place(sys.exc_info()[1], current())


def _note_place(error: BaseException | None, builder: Builder) -> None:
    """Give an error that is being raised its location before other statements are built."""
    if isinstance(error, LanguageError):
        error.at(builder.location)


def tracked(manager: Any) -> Any:
    """A context manager, wrapped if it is not of the language, so that the builder knows that it is open."""
    kind = type(manager)
    is_manager = hasattr(kind, "__enter__") and hasattr(kind, "__exit__")
    return UserManager(manager) if is_manager and not kind.__module__.startswith("tilecore.") else manager


class UserManager(AbstractContextManager[Any]):
    """Forwards to ``manager`` and records in the builder while it is open."""

    def __init__(self, manager: Any) -> None:
        self.manager, self.builder = manager, current()

    def __enter__(self) -> Any:
        entered = type(self.manager).__enter__(self.manager)
        self.builder.managers.append(len(self.builder.frames))
        return entered

    def __exit__(self, *error: Any) -> Any:
        depth = self.builder.managers.pop()
        _note_place(error[1], self.builder)
        is_handled = type(self.manager).__exit__(self.manager, *error)
        if error[0] is not None and is_handled:
            self.builder.check_lost(depth, error[1])
        return is_handled
