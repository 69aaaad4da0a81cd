"""Defines how reductions and atomics combine values: sums, products, extremes and bitwise operations.

Floats are combined in float64 and rounded once; integers wrap; extremes pass over NaN unless asked to propagate it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType, quiet, round_to, wrap
from tilecore.interpreter.tiles.perturbation import perturbed


@dataclass(frozen=True)
class Reduction:
    """An associative operation. floats, others: its ufuncs for floats and for other elements; None: it has none."""

    name: str
    floats: np.ufunc | None
    others: np.ufunc
    identity: Callable[[ValueType], Any]

    def ufunc(self, kind: ValueType) -> np.ufunc:
        chosen = self.floats if kind.is_float else self.others
        if chosen is None or (kind.kind == "bool" and chosen in (np.add, np.multiply)):
            raise TypeError(f"{self.name} of {kind.name} values has no meaning")
        return chosen

    def working(self, kind: ValueType) -> np.dtype:
        """The type in which values of ``kind`` are combined."""
        return np.dtype(np.float64) if kind.is_float else kind.carrier

    def ready(self, kind: ValueType, value: Value) -> Value:
        """``value`` in the type in which it is combined."""
        converted = value.astype(self.working(kind))
        return quiet(converted) if kind.is_float else converted

    def finish(self, kind: ValueType, value: Any) -> Value:
        """A result, rounded or wrapped to ``kind``."""
        return round_to(kind, value) if kind.is_float else wrap(kind, value)

    def reduce(self, kind: ValueType, value: Any, axis: int | tuple[int, ...] | None) -> Any:
        """``value`` reduced along ``axis``, starting from the identity, in the working type."""
        work = self.working(kind)
        first = work.type(self.identity(kind))
        ready = self.ready(kind, value)
        reduced = self.ufunc(kind).reduce(ready, axis=axis, dtype=work, initial=first)
        return perturbed(reduced, lambda: np.abs(ready).sum(axis=axis)) if self._is_rounded_sum(kind) else reduced

    def accumulate(self, kind: ValueType, value: Any, axis: int) -> Any:
        """The prefix results along ``axis``, each starting from the identity, in the working type."""
        work = self.working(kind)
        combine, ready = self.ufunc(kind), self.ready(kind, value)
        accumulated = combine(combine.accumulate(ready, axis=axis, dtype=work), work.type(self.identity(kind)))
        return (
            perturbed(accumulated, lambda: np.abs(ready).cumsum(axis=axis))
            if self._is_rounded_sum(kind)
            else accumulated
        )

    def pair(self, kind: ValueType, left: Value, right: Value) -> Value:
        return self.finish(kind, self.ufunc(kind)(self.ready(kind, left), self.ready(kind, right)))

    def by_group(self, kind: ValueType, value: np.ndarray, starts: np.ndarray, has_start: bool = True) -> Any:
        """The results of the runs of ``value`` that begin at ``starts``, in the working type.

        has_start: start from the identity. Updates of an element start from the element: the larger of two NaN is NaN.
        """
        work = self.working(kind)
        combine, ready = self.ufunc(kind), self.ready(kind, value)
        reduced = combine.reduceat(ready, starts, dtype=work)
        reduced = combine(reduced, work.type(self.identity(kind))) if has_start else reduced
        return (
            perturbed(reduced, lambda: np.add.reduceat(np.abs(ready), starts))
            if self._is_rounded_sum(kind)
            else reduced
        )

    def _is_rounded_sum(self, kind: ValueType) -> bool:
        return self.floats is np.add and kind.is_float


def _constant_zero(kind: ValueType) -> Any:
    return 0


def _constant_one(kind: ValueType) -> Any:
    return 1


def _lowest(kind: ValueType) -> Any:
    return -np.inf if kind.is_float else kind.low


def _highest(kind: ValueType) -> Any:
    return np.inf if kind.is_float else kind.high


def _all_bits(kind: ValueType) -> Any:
    return True if kind.kind == "bool" else (kind.high if kind.kind == "uint" else -1)


SUM = Reduction("sum", np.add, np.add, _constant_zero)
PROD = Reduction("prod", np.multiply, np.multiply, _constant_one)
MAX = Reduction("max", np.fmax, np.maximum, _lowest)
MIN = Reduction("min", np.fmin, np.minimum, _highest)
LARGEST = Reduction("max", np.fmax, np.maximum, _constant_zero)  # of absolute values
LARGEST_OR_NAN = Reduction("max", np.maximum, np.maximum, _constant_zero)
MAX_OR_NAN = Reduction("max", np.maximum, np.maximum, _lowest)
MIN_OR_NAN = Reduction("min", np.minimum, np.minimum, _highest)
AND = Reduction("and", None, np.bitwise_and, _all_bits)
OR = Reduction("or", None, np.bitwise_or, _constant_zero)
XOR = Reduction("xor", None, np.bitwise_xor, _constant_zero)

REDUCTIONS = {
    "sum": SUM,
    "prod": PROD,
    "abssum": SUM,
    "max": MAX,
    "absmax": LARGEST,
    "min": MIN,
    "bitand": AND,
    "bitor": OR,
    "bitxor": XOR,
}
ATOMICS = {"add": SUM, "max": MAX, "min": MIN, "and": AND, "or": OR, "xor": XOR}
UPDATES = {**ATOMICS, "mul": PROD}  # of reducers, too
PROPAGATING = {"max": MAX_OR_NAN, "min": MIN_OR_NAN, "absmax": LARGEST_OR_NAN}
