"""Runs commands on numpy: the meaning of the instructions and the rules of their operands, from notes.md and the
vendor's header. It runs lowered statements without code generation or simulator."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from tile_tpu.chips import Chip
from tile_tpu.ir.instructions import Command, as_command
from tile_tpu.ir.views import View

from tilecore.dtypes import FACTS
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, is_nothing
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Evaluate, FloatImm, For, IfThenElse, SeqStmt, Var
from tilecore.ir.visit import substitute


def number_type(dtype: str) -> np.dtype:
    return np.dtype("uint8" if dtype == "bool" else dtype)


class Machine:
    """memory: local buffers as [lane, element], tensors as flat arrays. written: which elements have been written."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.memory: dict[Var, np.ndarray] = {}
        self.written: dict[Var, np.ndarray] = {}
        self.values: dict[Var, Any] = {}
        self.count: dict[str, int] = {}

    # -- memory -------------------------------------------------------------------------------------------------

    def allocate(self, buffer: Var) -> None:
        elements = int(buffer.shape[0])
        kind = number_type(str(buffer.dtype) if hasattr(buffer, "dtype") else View(buffer, 0, 0, (), ()).dtype)
        self.memory[buffer] = np.zeros((self.chip.lanes, elements), kind)
        self.written[buffer] = np.zeros((self.chip.lanes, elements), bool)

    def tensor(self, buffer: Var, value: np.ndarray) -> None:
        self.memory[buffer] = value.reshape(-1)
        self.written[buffer] = np.ones(value.size, bool)

    def number(self, value: Any) -> int:
        if isinstance(value, int):
            return value
        values = {var: const(number, str(var.ty.dtype)) for var, number in self.values.items()}
        constant_value = constant(Analyzer().simplify(substitute(value, values)))
        assert constant_value is not None, value
        return constant_value

    def places(self, view: View) -> Any:
        """The index of each element of a view in its memory."""
        n, c, h, w = (np.arange(self.number(e)) for e in view.shape)
        sn, sc, sh, sw = (self.number(s) for s in view.strides)
        lane, offset = self.number(view.lane), self.number(view.offset)
        assert 0 <= lane < self.chip.lanes
        n, c, h, w = n[:, None, None, None], c[:, None, None], h[:, None], w
        if not view.is_local:
            return (offset + n * sn + c * sc + h * sh + w * sw,)
        c = c + lane
        where = offset + n * sn + c // self.chip.lanes * sc + h * sh + w * sw
        return np.broadcast_arrays(c % self.chip.lanes, where)

    def read(self, view: View) -> np.ndarray:
        at = tuple(self.places(view))
        assert self.written[view.buffer][at].all(), f"{view.buffer.name} is read before it is written"
        return self.memory[view.buffer][at]

    def write(self, view: View, value: Any) -> None:
        at = tuple(self.places(view))
        flat = np.ravel_multi_index(at, self.memory[view.buffer].shape)
        assert np.unique(flat).size == flat.size, f"a view of {view.buffer.name} writes an element twice"
        self.memory[view.buffer][at] = value
        self.written[view.buffer][at] = True

    # -- statements ---------------------------------------------------------------------------------------------

    def run(self, node: Any) -> None:
        if isinstance(node, SeqStmt):
            for part in node.seq:
                self.run(part)
        elif isinstance(node, AllocBuffer):
            self.allocate(node.buffer)
        elif isinstance(node, For):
            first = self.number(node.min)
            for step in range(first, first + self.number(node.extent)):
                self.values[node.loop_var] = step
                self.run(node.body)
        elif isinstance(node, IfThenElse):
            branch = node.then_case if self.number(node.condition) else node.else_case
            if branch is not None:
                self.run(branch)
        elif isinstance(node, AttrStmt):
            self.run(node.body)
        elif not is_nothing(node):
            command = as_command(node) if isinstance(node, Evaluate) else None
            assert command is not None, f"no command: {node}"
            self.command(command)

    def command(self, command: Command) -> None:
        name = command.instruction.name
        self.count[name] = self.count.get(name, 0) + 1
        if command.instruction.aligned:
            for view in command.views():
                eu = self.chip.eu_count(FACTS[view.dtype].bits)
                assert view.is_aligned(self.chip.lanes, eu), f"{name}: {view.buffer.name} is not aligned: {view}"
        if command.instruction.engine == "tensor unit":
            lanes = {self.number(v.lane) for v in command.views()}
            assert len(lanes) == 1, f"{name}: operands begin in lanes {lanes}"
        with np.errstate(all="ignore"):
            _RULES[name](self, **command.operands)

    def operand(self, value: Any, dtype: str) -> Any:
        if isinstance(value, View):
            return self.read(value)
        if isinstance(value, FloatImm):
            return number_type(dtype).type(value.value)
        return np.int64(self.number(value)).astype(number_type(dtype))


def _same(first: View, second: View, *names: str) -> None:
    assert first.constant_shape() == second.constant_shape(), (first.shape, second.shape)
    assert first.dtype == second.dtype, (first.dtype, second.dtype)


def _move(m: Machine, dst: View, src: View) -> None:
    _same(dst, src)
    m.write(dst, m.read(src))


def _fill(m: Machine, dst: View, value: Any) -> None:
    m.write(dst, m.operand(value, dst.dtype))


def _to_all(m: Machine, dst: View, src: View) -> None:
    assert src.shape[1] == 1
    assert dst.shape[1] <= m.chip.lanes
    assert dst.dtype == src.dtype
    m.write(dst, np.broadcast_to(m.read(src), dst.constant_shape()))


def _transpose(m: Machine, dst: View, src: View) -> None:
    assert dst.shape[0] == dst.shape[2] == 1
    assert dst.dtype == src.dtype
    m.write(dst, m.read(src).transpose(0, 3, 2, 1))


def _cast(m: Machine, dst: View, src: View, rounding: str) -> None:
    """Saturates, as the machine does."""
    value, kind = m.read(src), number_type(dst.dtype)
    if FACTS[dst.dtype].kind != "float":
        limits = np.iinfo(kind)
        if FACTS[src.dtype].kind == "float":
            value = np.nan_to_num(np.trunc(value.astype(np.float64)))
        m.write(dst, np.clip(value.astype(np.float64), limits.min, limits.max).astype(np.int64).astype(kind))
        return
    largest = float(ml_dtypes.finfo(kind).max)
    wide = value.astype(np.float64)
    limited = np.where(np.isnan(wide), wide, np.clip(wide, -largest, largest))
    m.write(dst, limited.astype(np.float32).astype(kind) if dst.dtype != "float32" else wide.astype(kind))


def _select(test: Any) -> Any:
    def run(m: Machine, dst: View, a: Any, b: Any, yes: Any, no: Any) -> None:
        kind = next((v.dtype for v in (a, b) if isinstance(v, View)), dst.dtype)
        holds = test(m.operand(a, kind), m.operand(b, kind))
        m.write(dst, np.where(holds, m.operand(yes, dst.dtype), m.operand(no, dst.dtype)))

    return run


def _equal_bits(x: Any, y: Any) -> Any:
    """Compares bit patterns: a NaN equals a NaN, -0 does not equal 0."""
    signs = [np.signbit(np.asarray(operand).astype(np.float64)) for operand in (x, y)]
    return ((x == y) & (signs[0] == signs[1])) | ((x != x) & (y != y))


def _less(x: Any, y: Any) -> Any:
    """The opposite of ``>=``: a NaN is less than a number."""
    return ~(x >= y) & ~_equal_bits(x, y)


def _binary(f: Any) -> Any:
    def run(m: Machine, dst: View, a: Any, b: Any) -> None:
        for operand in (a, b):
            if isinstance(operand, View):
                assert operand.constant_shape() == dst.constant_shape()
                assert _bits(operand) == _bits(dst)
        x, y = m.operand(a, dst.dtype), m.operand(b, dst.dtype)
        m.write(dst, np.asarray(f(x, y)).astype(number_type(dst.dtype)))

    return run


def _bits(view: View) -> int:
    return FACTS[view.dtype].bits


def _abs(m: Machine, dst: View, src: View) -> None:
    _same(dst, src)
    m.write(dst, np.abs(m.read(src)))


def _sum(m: Machine, dst: View, src: View) -> None:
    """Accumulated in the type of the result."""
    assert FACTS[src.dtype].kind == "float"
    assert FACTS[src.dtype].bits >= 16
    assert dst.dtype in ("float32", src.dtype)
    total = m.read(src).astype(number_type(dst.dtype))
    for axis in _pooled(dst):
        total = np.take(np.add.accumulate(total, axis=axis, dtype=total.dtype), [-1], axis)
    m.write(dst, total)


def _pooled(dst: View) -> list[int]:
    """The axes that a pool reduces: those of h and w along which the result has one element."""
    return [axis for axis in (2, 3) if dst.shape[axis] == 1]


def _pool(greater: bool) -> Any:
    """A NaN replaces the values before it, and the value after it replaces the NaN."""

    def run(m: Machine, dst: View, src: View) -> None:
        assert dst.dtype == src.dtype
        assert FACTS[src.dtype].kind == "float"
        assert FACTS[src.dtype].bits >= 16
        value = m.read(src)
        for axis in _pooled(dst):
            reduced = np.take(value, [0], axis)
            for i in range(1, value.shape[axis]):
                more = np.take(value, [i], axis)
                reduced = np.where(reduced > more if greater else reduced < more, reduced, more)
            value = reduced
        m.write(dst, value)

    return run


def _product(form: str) -> Any:
    def run(m: Machine, c: View, a: View, b: View, accumulate: Any) -> None:
        left, right = m.read(a)[0, :, 0, :], m.read(b)[0, :, 0, :]
        right = right.T if form == "nt" else right
        floats = FACTS[a.dtype].kind == "float"
        adds = bool(m.number(accumulate))
        if floats:
            assert FACTS[a.dtype].bits in (8, 16)
            assert FACTS[a.dtype].bits == FACTS[b.dtype].bits
            narrow_type = "float16" if FACTS[a.dtype].bits == 8 else a.dtype
            assert c.dtype == "float32" if adds else c.dtype in ("float32", narrow_type)
            assert a.dtype == b.dtype or FACTS[a.dtype].bits == 8
            assert not adds or form == "nn" or m.chip.runtime == "tpurt"
            total = left.astype(np.float64) @ right.astype(np.float64)
        else:
            assert a.dtype == b.dtype
            assert a.dtype in ("int8", "uint8")
            assert c.dtype == "int32"
            assert not adds or (form == "nn" and a.dtype == "int8")
            total = left.astype(np.int64) @ right.astype(np.int64)
        if adds:
            total = total + m.read(c)[0, :, 0, :]
        m.write(c, total[None, :, None, :].astype(number_type(c.dtype)))

    return run


def _gather(m: Machine, dst: View, src: View, rows: View, other: Any) -> None:
    value, index = m.read(src), m.read(rows)
    gathered = np.full(dst.constant_shape(), m.operand(other, dst.dtype))
    for c in range(gathered.shape[1]):
        for r in range(gathered.shape[2]):
            row = int(index[0, c, r, 0])
            if 0 <= row < value.shape[2]:
                gathered[0, c, r] = value[0, c, row]
    m.write(dst, gathered)


_RULES: dict[str, Any] = {
    "load": _move, "store": _move, "shift": _move, "copy": _move, "fill": _fill, "to_all_lanes": _to_all,
    "transpose": _transpose, "cast": _cast, "abs": _abs, "select_equal": _select(_equal_bits),
    "select_greater": _select(np.greater), "select_less": _select(_less), "gather_rows": _gather,
    "add": _binary(np.add), "sub": _binary(np.subtract), "mul": _binary(np.multiply), "and": _binary(np.bitwise_and),
    "or": _binary(np.bitwise_or), "xor": _binary(np.bitwise_xor),
    "max": _binary(lambda a, b: np.where(a > b, a, b)), "min": _binary(lambda a, b: np.where(a > b, b, a)),
    "reduce_sum": _sum, "reduce_max": _pool(True), "reduce_min": _pool(False),
    "mm": _product("nn"), "mm_nt": _product("nt"),
}  # fmt: skip
