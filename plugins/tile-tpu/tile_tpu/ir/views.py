"""Views: the operands of instructions. A view has four axes (n, c, h, w); in local memory c runs over the lanes.

In the IR a view is a call ``tpu.view(buffer, lane, offset, n, c, h, w, sn, sc, sh, sw)``:

- buffer: a local buffer (scope LOCAL, shape [elements of one lane]) or a tensor in global memory.
- lane: the lane of c = 0; 0 for global memory.
- offset: the offset of the element (0, 0, 0, 0) in elements, in the memory of its lane or from the start of the tensor.
- n, c, h, w: the extents, 1 to 65535; expressions where the end of a tensor cuts them.
- sn, sc, sh, sw: the strides in elements; in local memory sc is the stride from one group of lanes to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import Call, Expr, Var
from tilecore.ir.register_call import register_call

VIEW = register_call("tpu.view")
LOCAL = "tpu.local"  # the scope of local memory

Four = tuple[Any, Any, Any, Any]


@dataclass(frozen=True)
class View:
    """A view, as the module's docstring describes it. Extents, strides, lane and offset are ints or expressions."""

    buffer: Var
    lane: Any
    offset: Any
    shape: Four
    strides: Four

    @property
    def dtype(self) -> str:
        return dtype_of(self.buffer)

    @property
    def is_local(self) -> bool:
        return str(self.buffer.scope()) == LOCAL

    def call(self) -> Call:
        numbers = [self.lane, self.offset, *self.shape, *self.strides]
        return Call(VIEW, [self.buffer, *(_expr(n) for n in numbers)], ret_ty="handle")

    def with_shape(self, *shape: Any) -> View:
        return replace(self, shape=tuple(shape))

    def constant_shape(self) -> tuple[int, int, int, int] | None:
        """The extents; None where one of them is not a constant."""
        sizes = [constant(s) for s in self.shape]
        return None if None in sizes else (sizes[0], sizes[1], sizes[2], sizes[3])  # type: ignore[return-value]

    def is_aligned(self, lanes: int, eu: int) -> bool:
        """Whether the view has the aligned layout of its shape (``tpu_aligned_stride``), from an aligned offset of lane
        0 on. Instructions without strides need this layout, and NULL in place of strides means it."""
        shape = self.constant_shape()
        if not self.is_local or shape is None or constant(self.lane) != 0 or not _is_multiple(self.offset, eu):
            return False
        counts = (
            shape[0],
            -(-shape[1] // lanes),
            shape[2],
            shape[3],
        )  # where an axis has one element, its stride does not matter
        expected_strides = aligned_strides(shape, lanes, eu)
        return all(
            count == 1 or constant(stride) == expected
            for count, stride, expected in zip(counts, self.strides, expected_strides, strict=True)
        )


def aligned_strides(shape: Sequence[int], lanes: int, eu: int) -> tuple[int, int, int, int]:
    """The strides of the aligned layout (``tpu_aligned_stride``) of a view that begins in lane 0."""
    _, c, h, w = shape
    step = -(-h * w // eu) * eu
    return -(-c // lanes) * step, step, w, 1


def stored(dtype: str) -> str:
    """The type of an element in local memory: a bool is stored as a byte."""
    return "uint8" if dtype == "bool" else dtype


def as_view(node: Any) -> View | None:
    """``node`` as a View; None where it is no view."""
    if not isinstance(node, Call) or getattr(node.op, "name", "") != VIEW:
        return None
    buffer, lane, offset, *rest = node.args
    numbers = [n if constant(n) is None else constant(n) for n in (lane, offset, *rest)]
    return View(buffer, numbers[0], numbers[1], tuple(numbers[2:6]), tuple(numbers[6:10]))  # type: ignore[arg-type]


def _expr(number: Any) -> Expr:
    return const(number, "int32") if isinstance(number, int) else number


def _is_multiple(value: Any, unit: int) -> bool:

    constant_value = constant(value)
    if constant_value is not None:
        return constant_value % unit == 0
    return constant(Analyzer().simplify(value % unit)) == 0
