"""Loops that Python runs while the kernel is built, and ``while``, which Python or the kernel runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sized
from typing import Any

from tilecore.errors import LanguageError
from tilecore.frontend.branches import Probe, Staged
from tilecore.frontend.python_state import check_advance
from tilecore.ir.nodes import Bind, Break, Expr, IfThenElse, While
from tilecore.language.conditions import as_condition, logical_not
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.builder import Builder, Frame
from tilecore.tracing.current import current
from tilecore.tracing.held_values import without_binds

MAX_ITERATIONS = 20_000


def unrolled(builder: Builder, iterable: Any) -> Iterator[Any]:
    """The items of a loop that Python runs."""
    if isinstance(iterable, Iterator):
        check_advance(iterable, builder)
    depth = len(builder.frames)
    for count, item in enumerate(iterable):
        if len(builder.frames) != depth:
            raise LanguageError(
                "a generator yields values from inside a loop or an `if` that runs in the kernel",
                hint="write it as a T.macro, or loop where the values are used",
            ).at(builder.location)
        if count >= MAX_ITERATIONS and not isinstance(iterable, Sized):
            raise _endless_loop(builder, "for")
        with builder.block("unrolled"):
            yield item


def _endless_loop(builder: Builder, keyword: str) -> LanguageError:
    return LanguageError(
        f"a `{keyword}` loop that Python runs while the kernel is built has run {MAX_ITERATIONS:,} iterations",
        expected="a loop that ends: its condition must change while the kernel is built",
        hint="for a loop that runs in the kernel, use a value of the kernel in the condition (a T.alloc_var, an "
        "element of a buffer), or loop with T.serial",
    ).at(builder.location)


def while_(
    condition: Callable[[], Any], probe: Probe, has_else: bool, can_end: bool, jumps: bool
) -> Iterator[None]:  # fmt: skip
    """``while``. can_end: False where the condition always holds and no statement of the body ends the loop. jumps:
    whether the body has a `break` or a `continue` of the loop."""
    builder = current()
    if not can_end:
        raise LanguageError(
            "`while True` never ends: no statement in its body leaves it",
            expected="a `break` that Python reaches while the kernel is built, or a condition",
            hint="for a loop that runs in the kernel write its condition: `while flag != 0:` with "
            "flag = T.alloc_var(...), or an element of a buffer",
        ).at(builder.location)
    frame = sys._getframe(1)
    with builder.block("condition") as before_test:
        value = condition()
        test = as_condition(value) if is_kernel_value(value) else None
    if test is not None:
        loop = _KernelWhile(
            builder, test, before_test, Staged(builder, probe, "a while loop", frame, may_not_run=True), has_else
        )
        yield None
        loop.end()
        return
    for statement in before_test.statements:
        builder.emit(statement)
    for iteration in range(MAX_ITERATIONS):
        if not value:
            return
        if iteration == 0 and jumps:
            first = _FirstIteration(builder, Staged(builder, probe, "a while loop", frame, may_not_run=True), has_else)
            try:
                yield None
            except GeneratorExit:  # Python's `break`, or an error
                first.leave_early()
                raise
            first.end()
            if first.is_of_kernel:
                return
        else:
            with builder.block("unrolled"):
                yield None
        value = condition()
        if is_kernel_value(value):
            raise LanguageError(
                "the condition of `while` becomes a value of the kernel after the first iteration",
                expected="a condition that is a Python value in every iteration, or a value of the kernel in every one",
                hint='start with a value of the kernel: flag = T.alloc_var("bool", init=True)',
            ).at(builder.location)
    raise _endless_loop(builder, "while")


class _FirstIteration:
    """The first iteration of a ``while`` whose condition is a Python value that holds.

    Where its body has a ``break`` or ``continue`` under a condition of the kernel (``while True:`` with
    ``if A[i] > 0: break``), the loop becomes a loop of the kernel, and this iteration its body.
    """

    def __init__(self, builder: Builder, staged: Staged, has_else: bool) -> None:
        builder.name_pending()
        self.builder, self.staged, self.has_else, self.span = builder, staged, has_else, builder.span
        self.frame = Frame("first_iteration", become_loop=self._become_loop)
        builder.frames.append(self.frame)

    @property
    def is_of_kernel(self) -> bool:
        return self.frame.kind == "loop"

    def _become_loop(self) -> None:
        if self.has_else:
            raise no_else(self.builder)
        self.frame.kind = "loop"
        self.staged.__enter__()

    def end(self) -> None:
        """Build the loop of the kernel, or append the statements of the first iteration to the enclosing block."""
        self.builder.close(self.frame)
        if self.is_of_kernel:
            self.staged.__exit__()
            self.builder.emit(While(as_expr(True), self.frame.body(), span=self.span))
            self.staged.check()
            return
        around = self.builder.frame
        if not around.closed:
            around.statements += self.frame.statements
        self.frame.statements = around.statements  # held values may add statements to this block later

    def leave_early(self) -> None:
        """Python leaves the first iteration before its end."""
        if self.frame not in self.builder.frames or self.is_of_kernel:
            return
        if self.builder.frames[-1] is self.frame and not self.builder.has_lost:
            self.end()
        else:  # by an exception, from within a block
            self.builder.leave(self.frame)


def no_else(builder: Builder) -> LanguageError:
    """The error for the ``else`` of a loop that runs in the kernel."""
    return LanguageError(
        "a loop that runs in the kernel has an `else`",
        hint='clear a flag, completed = T.alloc_var("bool", init=True), before `break`, and write `if completed:` '
        "after the loop",
    ).at(builder.location)


class _KernelWhile:
    """A ``while`` of the kernel, open from its creation to ``end``."""

    def __init__(
        self, builder: Builder, test: Expr, before_test: Frame, staged: Staged, has_else: bool, names: bool = False
    ) -> None:
        """names: whether the body may read names that the condition gives (``:=``)."""
        if has_else:
            raise no_else(builder)
        self.builder, self.test, self.staged, self.span = builder, test, staged, builder.span
        self.frame = Frame("loop")
        others, inlined = without_binds(before_test.statements, test)
        named = any(isinstance(s, Bind) and s.var not in builder.readings for s in before_test.statements)
        if others or (names and named):  # the statements of the condition run before every iteration
            leave = IfThenElse(logical_not(test), Break(span=self.span), None, span=self.span)
            self.frame.statements += [*before_test.statements, leave]
            inlined = as_expr(True)
        self.test = inlined
        self.block = staged.__enter__()
        builder.frames.append(self.frame)

    def close(self) -> None:
        self.builder.close(self.frame)
        self.staged.__exit__()

    def end(self) -> None:
        self.close()
        self.builder.emit(While(self.test, self.frame.body(), span=self.span))
        self.staged.check()


class Step:
    """One evaluation of the condition of a ``while`` that assigns a name (``:=``), and the body after it."""

    def __init__(self, builder: Builder, staged: Staged) -> None:
        self.builder, self.staged = builder, staged
        self.condition = Frame("condition")
        self.body: Frame | None = None
        self.loop: _KernelWhile | None = None
        builder.frames.append(self.condition)

    def holds(self, value: Any) -> bool:
        """Opens the body."""
        test = as_condition(value) if is_kernel_value(value) else None
        self.builder.frames.remove(self.condition)
        if test is not None:
            self.loop = _KernelWhile(self.builder, test, self.condition, self.staged, has_else=False, names=True)
            return True
        for statement in self.condition.statements:
            self.builder.emit(statement)
        if value:
            self.body = Frame("unrolled")
            self.builder.frames.append(self.body)
        return bool(value)

    def close(self) -> None:
        for frame in (self.condition, self.body):
            if frame in self.builder.frames:
                self.builder.frames.remove(frame)


def while_steps(probe: Probe, has_else: bool) -> Iterator[Step]:
    """``while`` whose condition assigns a name: a step for every evaluation of the condition."""
    builder, frame = current(), sys._getframe(1)
    if has_else:
        raise LanguageError(
            "a `while` whose condition assigns a name (`:=`) has an `else`",
            hint="assign the name in a statement of its own",
        ).at(builder.location)
    for _ in range(MAX_ITERATIONS):
        step = Step(builder, Staged(builder, probe, "a while loop", frame, may_not_run=True))
        try:
            yield step
        finally:
            step.close()
        if step.loop is not None:
            step.loop.end()
            return
    raise _endless_loop(builder, "while")
