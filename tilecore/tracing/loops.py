"""Loops that run in the kernel: what ``T.serial``, ``T.Parallel``, ... return, and how the builder opens one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.nodes import For, ForKind, IntImm, Var, is_prim_expr
from tilecore.tracing.continues import without_continues
from tilecore.tracing.plain_values import plain_values

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder, Frame


@dataclass(frozen=True)
class Axis:
    """One loop axis: ``start``, number of iterations ``extent``, and ``step``, a Python int other than 0 or an
    expression of the kernel."""

    start: Any
    extent: Any
    step: Any = 1


@dataclass
class LoopSpec:
    """A nest of loops that the kernel runs. kind: serial, parallel, pipelined, unrolled or vectorized.

    single: whether the loop yields one variable rather than a tuple. annotations go on the outermost loop.
    guard: builds further statements at the top of the body and gives the values to yield (T.Persistent).
    """

    kind: str
    axes: tuple[Axis, ...]
    single: bool = True
    annotations: dict[str, Any] = field(default_factory=dict)
    guard: Any = None

    @staticmethod
    def of(iterable: Any) -> LoopSpec | None:
        return iterable if isinstance(iterable, LoopSpec) else None

    @property
    def may_not_run(self) -> bool:
        """May the loop run no iteration?"""
        extents = [int(a.extent) if isinstance(a.extent, IntImm) else a.extent for a in self.axes]
        return self.guard is not None or not all(isinstance(e, int) and e > 0 for e in extents)

    def __iter__(self) -> Iterator[Any]:
        raise LanguageError(
            f"T.{self.kind} is iterated by Python outside the kernel's own statements",
            expected="`for i in T.serial(...)` directly in a kernel or macro",
            hint="in comprehensions and helper functions loop with Python's range",
        )

    def __enter__(self) -> Any:
        raise LanguageError(
            f"T.{self.kind} is entered by Python outside the kernel's own statements",
            expected="`with T.Parallel(n) as i:` directly in a kernel or macro",
        )

    def __exit__(self, *error: object) -> None:
        """The loop is closed by the front end."""


_KINDS = {
    "serial": ForKind.SERIAL,
    "pipelined": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "unrolled": ForKind.UNROLLED,
    "vectorized": ForKind.VECTORIZED,
}


@contextmanager
def open_loop(builder: Builder, spec: LoopSpec, names: tuple[str, ...]) -> Iterator[Any]:
    """Open the loops of ``spec``, yield the value for the user's loop target, and close them."""
    builder.kernel_frame(
        lambda: LanguageError(
            "a loop stands outside T.Kernel",
            expected="loops of the kernel inside `with T.Kernel(...)`",
            hint="a loop over Python lists or tuples is unrolled and may stand anywhere",
        )
    )
    variable_names = _names(spec, names, builder)
    annotations = plain_values(spec.annotations)
    opened: list[tuple[Frame, Var, Axis]] = []
    span = builder.span
    with ExitStack() as stack:
        values = []
        for axis, name in zip(spec.axes, variable_names, strict=True):
            plain = isinstance(axis.step, int) and axis.step == 1 and _is_zero(axis.start)
            var = builder.variable(name if plain else f"{name}_it", _index_dtype(axis))
            frame = stack.enter_context(
                builder.block("loop", parallel=spec.kind == "parallel", var=var, extent=axis.extent)
            )
            opened.append((frame, var, axis))
            values.append(var if plain else builder.bind(name, axis.start + var * axis.step))
        if spec.guard is not None:
            yield from _guarded(builder, spec, values)
        else:
            yield values[0] if spec.single else tuple(values)
        inner = None
        for depth, (frame, var, axis) in reversed(list(enumerate(opened))):
            if inner is not None:
                frame.statements.append(inner)
            notes = {LoopAttr.KIND: spec.kind, **(annotations if depth == 0 else {})}
            body = without_continues(frame.body()) if spec.kind == "parallel" else frame.body()
            inner = For(var, 0, axis.extent, _KINDS[spec.kind], body, annotations=notes, span=span)
    builder.emit(inner)


def _guarded(builder: Builder, spec: LoopSpec, values: list[Any]) -> Iterator[Any]:
    from tilecore.ir.nodes import IfThenElse

    condition, result = spec.guard(*values)
    with builder.block("branch") as frame:
        yield result
    builder.emit(IfThenElse(condition, frame.body(), None, span=builder.span))


def _names(spec: LoopSpec, names: tuple[str, ...], builder: Builder) -> list[str]:
    count = len(spec.axes)
    if spec.guard is not None:
        return ["wave"]
    if len(names) == count:
        return list(names)
    if not names:  # `with T.Parallel(n):`
        return [f"i_{axis}" for axis in range(count)]
    if len(names) == 1 and not spec.single:
        return [f"{names[0]}_{i}" for i in range(count)]
    raise LanguageError(
        f"the loop has {count} {'axis' if count == 1 else 'axes'} and {len(names)} variables",
        found=", ".join(names),
        expected=f"{count} variable{'s' if count != 1 else ''}",
    ).at(builder.location)


def _is_zero(value: Any) -> bool:
    return (isinstance(value, int) and value == 0) or (isinstance(value, IntImm) and int(value) == 0)


def _index_dtype(axis: Axis) -> str:
    for bound in (axis.start, axis.extent):
        if is_prim_expr(bound) and str(bound.ty.dtype) == "int64":
            return "int64"
    return "int32"
