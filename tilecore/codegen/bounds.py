"""Facts about integers while source is emitted: their ranges, and which of them are indices."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Analyzer, ConstIntBound, IntImm, Range, TensorLoad, Var, tirx

_LIMIT = 2**31 - 1
# an index that is multiplied by more is no index; a hash is
_LARGEST_STEP = 1 << 16
# so is a sum with more than this, by the bits of its type: eight of them come near to an overflow
_LARGEST_TERM = {32: 1 << 28, 64: 1 << 60}
_JOINED = (tirx.Add, tirx.Sub, tirx.Min, tirx.Max)
_CHANGING = (tirx.Add, tirx.Sub, tirx.Mul)
_KEEPING = (tirx.Min, tirx.Max, tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)
_DIVIDED = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)


class Bounds:
    """Ranges of integer expressions.

    Indices of blocks, threads and loops, sizes, and what is made of them by divisions, and by sums and products with
    moderate constants, are *places*: arithmetic on them does not overflow, since no buffer and no grid reaches so far.
    """

    def __init__(self) -> None:
        self.analyzer = Analyzer()
        self._places: set[Var] = set()

    def bind_range(self, var: Var, first: Any, extent: Any) -> None:
        """``var`` runs from ``first`` over ``extent`` values."""
        self._places.add(var)
        self.analyzer.bind(var, Range.from_min_extent(first, extent), allow_override=True)

    def bind_size(self, var: Var) -> None:
        """``var`` is a size: from 0 on."""
        self._places.add(var)
        self.analyzer.bind(var, Range.from_min_extent(0, IntImm(dtype_of(var), _LIMIT)))

    def bind_value(self, var: Var, value: Any) -> None:
        """``var`` is another name of ``value``."""
        if dtype_of(var) not in FACTS or FACTS[dtype_of(var)].kind not in ("int", "uint"):
            return
        if self.is_place(value):
            self._places.add(var)
        low, high = self._range(value)
        if low >= -_LIMIT and high - low < _LIMIT and self._exact(value):
            # no Range: its end, one past the largest value, may not be a number of the type
            self.analyzer.update(var, ConstIntBound(low, high), override=True)

    def is_place(self, node: Any) -> bool:
        if isinstance(node, IntImm):
            return abs(int(node.value)) <= _LARGEST_TERM.get(FACTS[dtype_of(node)].bits, 1 << 60)
        if isinstance(node, Var):
            return node in self._places
        if isinstance(node, tirx.Mul):
            a, b = constant(node.a), constant(node.b)
            steps_well = all(c is None or abs(c) <= _LARGEST_STEP for c in (a, b))
            return steps_well and self.is_place(node.a) and self.is_place(node.b)
        if isinstance(node, (*_JOINED, *_DIVIDED)):
            return self.is_place(node.a) and self.is_place(node.b)
        if isinstance(node, tirx.Cast):
            return dtype_of(node) in ("int32", "int64") and self.is_place(node.value)
        return False

    def never_negative(self, node: Any) -> bool:
        if FACTS[dtype_of(node)].kind == "uint":
            return True
        return self._range(node)[0] >= 0 and self._exact(node)

    def is_positive(self, node: Any) -> bool:
        return self._range(node)[0] > 0 and self._exact(node)

    def fits(self, node: Any) -> bool:
        """Is the exact value of this sum or product within the range of its type?"""
        return self._within(node) and self._exact(node.a) and self._exact(node.b)

    def _within(self, node: Any, dtype: str | None = None) -> bool:
        """Is the range that the analyzer finds, if nothing in ``node`` overflows, within that of its type (or of
        ``dtype``)?"""
        facts = FACTS[dtype or dtype_of(node)]
        bits = min(facts.bits, 62)  # the analyzer counts no further
        low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if facts.kind == "int" else (0, 1 << bits)
        least, largest = self._range(node)
        return least >= low and largest < high

    def _range(self, node: Any) -> tuple[int, int]:
        """The least and the largest value that the analyzer knows of."""
        try:
            bound = self.analyzer.const_int_bound(node)
        except RuntimeError:  # it adds up infinities where a value may be any 64-bit number, and refuses
            return -(1 << 63), (1 << 63) - 1
        return int(bound.min_value), int(bound.max_value)

    def _exact(self, node: Any) -> bool:
        """Does nothing in ``node`` overflow? The analyzer takes that for granted."""
        if isinstance(node, (Var, IntImm, TensorLoad)) or self.is_place(node):
            return True
        if isinstance(node, _CHANGING):
            return self._within(node) and self._exact(node.a) and self._exact(node.b)
        if isinstance(node, _KEEPING):
            return self._exact(node.a) and self._exact(node.b)
        if isinstance(node, tirx.Cast):
            return FACTS[dtype_of(node.value)].kind in ("int", "uint") and (
                self._within(node.value, dtype_of(node)) and self._exact(node.value)
            )
        if isinstance(node, tirx.Select):
            return self._exact(node.true_value) and self._exact(node.false_value)
        return False
