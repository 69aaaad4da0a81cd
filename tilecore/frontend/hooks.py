"""The hooks that rewritten functions call: for Python values they do what Python does, else they build tile IR."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype
from tilecore.errors import FailedAssertError, LanguageError
from tilecore.frontend.branches import Branches, Probe, Staged
from tilecore.frontend.containers import (  # noqa: F401  also hooks
    assign_item,
    attribute_to_update,
    delete_attribute,
    delete_item,
    item,
    item_to_update,
    method,
    next_,
    print_,
    read,
    store,
    store_attribute,
)
from tilecore.frontend.jumps import break_, caught, continue_, finally_, tracked  # noqa: F401  also hooks
from tilecore.frontend.operands import (  # noqa: F401  also hooks
    OperandWithCalls,
    and_,
    and_operand,
    chain,
    choose,
    contains,
    decided,
    divide,
    lacks,
    negate,
    not_,
    or_,
    or_operand,
)
from tilecore.frontend.python_loops import no_else, unrolled, while_, while_steps  # noqa: F401  also hooks
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Evaluate, Expr, TensorRegion
from tilecore.language.buffers import BufferHandle, LocalVar, VariableRead
from tilecore.language.lanes import Bits, Broadcasted
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import active, current
from tilecore.tracing.loops import LoopSpec, open_loop

if TYPE_CHECKING:
    from tilecore.ir.spans import SpanTable


def at(spans: SpanTable, index: int) -> None:
    """Set the source position of the statement that runs next."""
    builder = current()
    builder.name_pending()
    builder.place = (spans, index)


# -- control flow --------------------------------------------------------------------------------------------


def for_(iterable: Any, names: tuple[str, ...], probe: Probe, has_else: bool, unpacked: bool = False) -> Iterator[Any]:
    """``for``: a loop of the kernel for T.serial and the like, else a loop that Python runs."""
    builder = current()
    spec = LoopSpec.of(iterable)
    if spec is None:
        yield from unrolled(builder, iterable)
        return
    if has_else:
        raise no_else(builder)
    staged = Staged(builder, probe, "a loop", sys._getframe(1), spec.may_not_run)
    with staged, open_loop(builder, spec, names) as variables:
        yield target_value(variables, unpacked)
    staged.check()


def range_(function: Any, *bounds: Any) -> Any:
    """``range(...)`` as a loop's iterable: a loop of the kernel."""
    if function is not range:
        return function(*bounds)
    from tilecore.language.loops import serial

    return serial(*bounds)


def if_(test: Any, probe: Probe, assigned: tuple[tuple[str, ...], tuple[str, ...]]) -> Branches:
    """``if``. assigned: the names that the body assigns, and those that the ``else`` side assigns."""
    return Branches(current(), test, probe, assigned, sys._getframe(1))


def matched(value: Any) -> Any:
    """The subject of ``match``; raises LanguageError for a value of the kernel."""
    if is_kernel_value(value):
        raise LanguageError(
            "`match` is applied to a value of the kernel",
            expected="a Python value, which is known when compiling",
            hint="decide with `if` and `elif`",
        ).at(current().location)
    return value


def with_(manager: Any, names: tuple[str, ...], unpacked: bool, probe: Probe) -> AbstractContextManager:
    """``with``: the context manager to enter. names: those after ``as``; unpacked: they are a tuple."""
    if isinstance(manager, LoopSpec):
        return entered_loop(manager, names, unpacked, probe)
    if hasattr(manager, "set_names"):
        manager.set_names(names, unpacked)
    return tracked(manager)


@contextmanager
def entered_loop(spec: LoopSpec, names: tuple[str, ...], unpacked: bool, probe: Probe) -> Iterator[Any]:
    """``with T.Parallel(n) as i:``, which is the loop ``for i in T.Parallel(n):``"""
    builder = current()
    staged = Staged(builder, probe, "a loop", sys._getframe(2), spec.may_not_run)
    with staged, open_loop(builder, spec, names) as variables:
        builder.frame.facts["entered"] = True
        yield target_value(variables, unpacked)
    staged.check()


def target_value(variables: Any, unpacked: bool) -> Any:
    """The value that is assigned to the target of a loop: for the target ``(i,)`` a tuple of one variable."""
    return (variables,) if unpacked and not isinstance(variables, tuple) else variables


def depth() -> int:
    """The number of open blocks, at the call of a function inside the kernel."""
    builder = active()
    return len(builder.frames) if builder is not None else 0


def return_(value: Any, inner: int | None = None) -> Any:
    """``return``. inner: in a function inside the kernel, how many blocks were open at its call."""
    builder = current()
    depth = builder.return_depth if inner is None else inner
    if any(frame.kind in ("loop", "branch") for frame in builder.frames[depth:]):
        raise LanguageError(
            "`return` stands inside a loop or an `if` that runs in the kernel",
            hint="invert the condition and put the statements that follow into the `if` or `else`. To return one of "
            "several results, assign it to a T.alloc_var on each side and return that, or choose with `a if c else b`",
        ).at(builder.location)
    return value


def assert_(test: Any, message: Callable[[], Any] | None) -> None:
    from tilecore.language.debugging import device_assert

    text = str(message()) if message else "assertion failed"
    if is_kernel_value(test):
        device_assert(test, text)
    elif not test:
        raise FailedAssertError(text).at(current().location)


# -- assignments ---------------------------------------------------------------------------------------------


def statement(value: Any) -> None:
    """A call as a statement. Its result is dropped; a call of an external function is built for its effect."""
    if isinstance(value, Expr) and op_name(value) in ("call_extern", "call_pure_extern"):
        builder = current("a call")
        builder.emit(Evaluate(value, span=builder.span))


def _old_value(probe: Callable[[], Any] | None) -> Any:
    """The value that a name has before an assignment; None where it has none."""
    if probe is None:
        return None
    try:
        return probe()
    except NameError:
        return None


def bind(name: str, value: Any, old: Callable[[], Any] | None) -> Any:
    """``name = value``: a store if the name is a T.alloc_var, a new variable of the kernel if the value is one of the
    kernel's expressions, else Python's own assignment."""
    builder = current()
    if isinstance(value, (LocalVar, BufferHandle)) and value.name_once(builder, name):
        return value
    before = _old_value(old)
    if isinstance(before, LocalVar) and before is value:
        return value
    if isinstance(value, VariableRead) and value.variable is before and value.is_current():  # x = x
        return before
    if isinstance(before, LocalVar) and not isinstance(value, BufferHandle):
        before.store(value)
        return before
    if not is_kernel_value(value) or isinstance(value, (BufferHandle, TensorRegion, Bits, Broadcasted)):
        return value
    expression = as_expr(value)
    is_value = is_leaf(expression) and expression not in builder.readings
    return expression if is_value else builder.bind(name, expression)


def walrus(name: str, value: Any, old: Callable[[], Any] | None) -> Any:
    """``(name := value)``"""
    builder = current()
    if builder.enclosing("operand") is not None and is_kernel_value(value):
        decided(value)
    bound = bind(name, value, old)
    return bound


def is_leaf(expression: Any) -> bool:
    from tilecore.ir.nodes import FloatImm, IntImm, StringImm, Var

    return isinstance(expression, (Var, IntImm, FloatImm, StringImm))


def annotate(name: str, annotation: Callable[[], Any], old: Callable[[], Any]) -> Any:
    """``name: annotation`` without a value: the declaration of a parameter."""
    builder = current()
    assert builder.on_annotation is not None
    return builder.on_annotation(name, annotation(), _old_value(old))


def annotated(annotation: Callable[[], Any], value: Any) -> Any:
    """``name: annotation = value``: a cast when the annotation is an element type."""
    from tilecore.language.numeric import cast

    kind = annotation()
    return cast(value, kind) if isinstance(kind, dtype) and is_kernel_value(value) else value


def augment(name: str, target: Any, value: Any) -> Any:
    """The new value of ``target`` in ``target += value`` and the like."""
    return divide(target, value) if name == "itruediv" else getattr(operator, name)(target, value)
