"""Views: what an instruction works on. Four axes (n, c, h, w) of a buffer; c runs over the lanes in local memory.

In the IR a view is a call ``tpu.view(buffer, lane, offset, n, c, h, w, sn, sc, sh, sw)``:

- buffer: a local buffer (scope LOCAL, shape [elements of one lane]) or a tensor in global memory.
- lane: that of c = 0; 0 for global memory.
- offset: of the element (0, 0, 0, 0): in the lane's memory, or from the start of the tensor, in elements.
- n, c, h, w: extents, 1 to 65535; expressions where the end of a tensor cuts them.
- sn, sc, sh, sw: strides in elements; of local memory, sc is that from one group of lanes to the next.
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
LOCAL = "tpu.local"  # the scope

Four = tuple[Any, Any, Any, Any]


@dataclass(frozen=True)
class View:
    """See above. Extents, strides, lane and offset are ints or expressions."""

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
        """The extents where all are known."""
        sizes = [constant(s) for s in self.shape]
        return None if None in sizes else (sizes[0], sizes[1], sizes[2], sizes[3])  # type: ignore[return-value]

    def is_aligned(self, lanes: int, eu: int) -> bool:
        """Whether it has the aligned layout (``tpu_aligned_stride``) of its shape, at an aligned place of lane 0: what
        instructions without strides, and NULL for strides, take."""
        shape = self.constant_shape()
        if not self.is_local or shape is None or constant(self.lane) != 0 or not _is_multiple(self.offset, eu):
            return False
        counts = (shape[0], -(-shape[1] // lanes), shape[2], shape[3])  # a stride of what is there once does not matter
        expected_strides = aligned_strides(shape, lanes, eu)
        return all(
            count == 1 or constant(stride) == expected
            for count, stride, expected in zip(counts, self.strides, expected_strides, strict=True)
        )


def aligned_strides(shape: Sequence[int], lanes: int, eu: int) -> tuple[int, int, int, int]:
    """``tpu_aligned_stride`` from lane 0."""
    _, c, h, w = shape
    step = -(-h * w // eu) * eu
    return -(-c // lanes) * step, step, w, 1


def stored(dtype: str) -> str:
    """The type of an element in memory: a bool is a byte."""
    return "uint8" if dtype == "bool" else dtype


def as_view(node: Any) -> View | None:
    """``node`` as a View, or None when it is none."""
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
