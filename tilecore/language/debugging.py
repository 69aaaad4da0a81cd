"""Printing, assertions and assumptions in a kernel: T.print, T.device_assert, T.assume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.errors import FailedAssertError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant
from tilecore.ir.nodes import TensorRegion
from tilecore.language.buffers import BufferHandle
from tilecore.language.conditions import as_condition
from tilecore.language.copies import emit
from tilecore.language.keywords import also_named
from tilecore.language.regions import region_of
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder


def print(obj: Any = None, msg: str = "", warp_group_id: int = 0, warp_id: int = 0) -> None:
    """Print a value, a buffer or a slice from the kernel, after ``msg``. ``T.print("text", value)`` works too."""
    values = []
    if isinstance(obj, str):
        obj, msg = (None, obj) if not is_kernel_value(msg) else (msg, obj)
    if isinstance(obj, (BufferHandle, TensorRegion)):
        values = [region_of(obj, "T.print")]
        msg = msg or str(values[0].source.name)
    elif obj is not None:
        values = [as_expr(obj)]
        msg = msg or str(values[0])
    emit("print", [str(msg), *values])


def device_assert(condition: Any, msg: str = "device assertion failed", no_stack_info: bool = False) -> None:
    """End the kernel with ``msg`` where ``condition`` does not hold, if the target can: the launch raises an error.
    no_stack_info: kept for compatibility; the error names the line in any case."""
    if not is_kernel_value(condition):
        if not condition:
            raise FailedAssertError(f"the condition of T.device_assert is always false: {msg}").at(
                current("T.device_assert").location
            )
        return
    _require("device_assert", as_condition(condition), [str(msg)])


@also_named(condition="cond")
def assume(cond: Any) -> None:
    """Promise the compiler that ``cond`` holds. The interpreter checks it. Every launch checks a condition of sizes and
    integer scalars of the call that stands in no loop and no ``if``, and raises LaunchError."""
    _require("assume", as_condition(cond), [])


def _require(name: str, condition: Any, more: list[Any]) -> None:
    """Appends a check of ``condition``, unless it always holds. In front of T.Kernel it is one of sizes and numbers of
    the call: it becomes part of every T.Kernel that follows."""
    builder = current(f"T.{name}")
    if constant(Analyzer().simplify(condition)) == 1:
        return
    if builder.enclosing("kernel") is None:
        builder.preconditions.append((builder.place, name, [condition, *more]))
    else:
        emit(name, [condition, *more])


def emit_preconditions(builder: Builder) -> None:
    """At the beginning of a T.Kernel: the checks that stand in front of it."""
    place_of_kernel = builder.place
    for place, name, operands in builder.preconditions:
        builder.place = place
        emit(name, operands)
    builder.place, builder.checked_preconditions = place_of_kernel, len(builder.preconditions)


def sync_threads(barrier_id: Any = None, arrive_count: Any = None) -> None:
    """Wait for all threads of the block, or of the role around (T.ws). The compiler places the barriers that tile
    operations need by itself.

    barrier_id: ignored, as the compiler chooses the barrier. arrive_count: the number of threads that wait. In a role
    it must be the number of the role's threads; elsewhere all threads wait.
    """
    hints = {CallAttr.BARRIER: _number(barrier_id), CallAttr.ARRIVALS: _number(arrive_count)}
    emit("sync_threads", [], hints)


def _number(value: Any) -> int | None:
    """The value as an int, if it is one that is known when compiling."""
    expression = None if value is None else constant(as_expr(value))
    return None if expression is None else int(expression)


def evaluate(value: Any) -> None:
    """Evaluate an expression for its effect."""
    from tilecore.ir.nodes import Evaluate, IntImm

    builder = current("T.evaluate")
    expression = as_expr(value)
    if not isinstance(expression, IntImm):
        builder.emit(Evaluate(expression, span=builder.span))
