"""Random expressions of floats, and what they are to the bit: numpy's arithmetic, and fused multiply-adds by fractions.

Written apart from the interpreter: neither its values nor its rounding are used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import tilecore.language as T

from .kit import element

Array = np.ndarray


@dataclass(frozen=True)
class Tree:
    """An operation on trees; "leaf" is a tensor's element, "number" a constant."""

    op: str
    parts: tuple[Tree, ...] = ()
    name: str = ""
    number: float = 0.0


ARITY = {
    "+": 2, "-": 2, "*": 2, "/": 2, "fma": 3, "sqrt": 1, "neg": 1, "abs": 1, "min": 2, "max": 2, "choose": 4,
}  # fmt: skip
_WEIGHTS = {"+": 5, "-": 5, "*": 7, "/": 2, "fma": 1, "sqrt": 1, "neg": 1, "abs": 1, "min": 1, "max": 1, "choose": 1}


def random_tree(rng: Any, leaves: list[str], depth: int) -> Tree:
    """A tree over the tensors named in ``leaves``."""
    if depth == 0 or rng.random() < 0.1:
        if rng.random() < 0.12:
            return Tree("number", number=float(rng.choice([0.0, 1.0, 2.0, 0.5, 3.0, 0.1, -0.7, 1e30])))
        return Tree("leaf", name=str(rng.choice(leaves)))
    ops = list(_WEIGHTS)
    weights = np.array([_WEIGHTS[op] for op in ops], float)
    op = str(rng.choice(ops, p=weights / weights.sum()))
    return Tree(op, tuple(random_tree(rng, leaves, depth - 1) for _ in range(ARITY[op])))


def expression(tree: Tree, leaf: Callable[[str], Any], dtype: str) -> Any:
    """The tree in the tile language. The smaller and the larger of 0 and -0 are either: 0 is added to them."""
    if tree.op == "leaf":
        return leaf(tree.name)
    if tree.op == "number":
        return T.cast(tree.number, dtype)
    values = [expression(part, leaf, dtype) for part in tree.parts]
    zero = T.cast(0.0, dtype)
    plain: Mapping[str, Callable[..., Any]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "fma": T.fma,
        "sqrt": T.sqrt,
        "neg": lambda a: -a,
        "abs": T.abs,
        "min": lambda a, b: T.min(a, b) + zero,
        "max": lambda a, b: T.max(a, b) + zero,
        "choose": lambda a, b, c, d: T.if_then_else(a < b, c, d),
    }
    return plain[tree.op](*values)


def evaluate(tree: Tree, leaves: Mapping[str, Array], dtype: str) -> Array:
    """The tree's value by the language's rules."""
    kind = element(dtype).type
    if tree.op == "leaf":
        return leaves[tree.name]
    if tree.op == "number":
        shape = next(iter(leaves.values())).shape
        return np.full(shape, tree.number, kind)
    if tree.op in "+-":
        fused = _contracted(tree)
        if fused is not None:
            x, y, z = (evaluate(part, leaves, dtype) for part in fused)
            return fma(x, y, z)
    values = [evaluate(part, leaves, dtype) for part in tree.parts]
    with np.errstate(all="ignore"):
        return _NUMPY[tree.op](*values).astype(kind)


_NUMPY: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "fma": lambda a, b, c: fma(a, b, c),
    "sqrt": np.sqrt,
    "neg": np.negative,
    "abs": np.abs,
    "min": lambda a, b: _extreme(a, b, np.minimum),
    "max": lambda a, b: _extreme(a, b, np.maximum),
    "choose": lambda a, b, c, d: np.where(a < b, c, d),
}


def _extreme(a: Array, b: Array, join: Any) -> Array:
    """Of a NaN and a number the number; the sign of 0 goes by adding 0."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, join(a, b))) + a.dtype.type(0)


def _contracted(tree: Tree) -> tuple[Tree, Tree, Tree] | None:
    """(x, y, z) of a sum or difference that is one fma: exactly one side is a product, perhaps negated."""
    left, right = tree.parts
    products = _product(left), _product(right)
    if (products[0] is None) == (products[1] is None):
        return None
    if products[0] is not None:
        return (*products[0], right if tree.op == "+" else Tree("neg", (right,)))
    assert products[1] is not None
    x, y = products[1]
    return (x if tree.op == "+" else Tree("neg", (x,))), y, left


def _product(tree: Tree) -> tuple[Tree, Tree] | None:
    if tree.op == "neg":
        inner = _product(tree.parts[0])
        return None if inner is None else (Tree("neg", (inner[0],)), inner[1])
    return (tree.parts[0], tree.parts[1]) if tree.op == "*" else None


# -- the fused multiply-add --------------------------------------------------------------------------------------


def fma(x: Array, y: Array, z: Array) -> Array:
    """x * y + z of finite numbers by fractions, rounded once; of others as IEEE 754 has it."""
    kind = x.dtype.type
    flat = [_fma(float(a), float(b), float(c), x.dtype) for a, b, c in zip(x.flat, y.flat, z.flat, strict=True)]
    return np.array(flat, dtype=np.float64).astype(kind).reshape(x.shape)  # they are of that type already


def _fma(a: float, b: float, c: float, kind: Any) -> float:
    if math.isnan(a) or math.isnan(b) or math.isnan(c):
        return math.nan
    negative = math.copysign(1, a) * math.copysign(1, b) < 0
    if math.isinf(a) or math.isinf(b):
        if a == 0 or b == 0 or (math.isinf(c) and (c < 0) != negative):
            return math.nan
        return -math.inf if negative else math.inf
    if math.isinf(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        is_product_zero = a == 0 or b == 0
        return -0.0 if is_product_zero and negative and math.copysign(1, c) < 0 else 0.0
    return _nearest(exact, kind)


def _nearest(exact: Fraction, kind: Any) -> float:
    """The float of ``kind`` nearest to a fraction that is not 0, the even one of two."""
    facts = np.finfo(kind)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, facts.minexp) - facts.nmant)
    count = round(size / step)  # Python rounds halves of a fraction to the even number
    rounded = count * step
    value = math.inf if rounded > Fraction(float(facts.max)) else float(rounded)
    return math.copysign(value, -1 if exact < 0 else 1)


# -- numbers to try ----------------------------------------------------------------------------------------------


def hard(dtype: str, count: int, seed: int) -> Array:
    """Corners of a type, numbers of all sizes, and near ones whose sums cancel."""
    kind = element(dtype)
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**63, count, dtype=np.uint64) * np.uint64(2) + rng.integers(0, 2, count, dtype=np.uint64)
    anything = (bits >> np.uint64(64 - 8 * kind.itemsize)).astype(f"uint{8 * kind.itemsize}").view(kind)
    near = (1 + rng.integers(-8, 9, count) / 2.0 ** (10 if kind.itemsize == 2 else 22)).astype(kind)
    plain = rng.standard_normal(count).astype(kind)
    corners = np.array(
        [0.0, -0.0, 1.0, -1.0, 3.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 1e-45, 5e-324, 2.0**-126, 2.0**-1022,
         3.3e38, -1e30, 1e30, 1.7e308, 65504.0, 6e-8, 1 / 3],
        np.float64,
    )  # fmt: skip
    with np.errstate(all="ignore"):
        choices = [anything, near, plain, rng.choice(corners.astype(kind), count)]
    return np.choose(rng.integers(0, len(choices), count), choices).astype(kind)


def equal_bits(got: Array, expected: Array, label: str) -> None:
    """Equal in every bit; all NaN are one."""
    assert got.dtype == expected.dtype
    raw = f"uint{8 * expected.dtype.itemsize}"
    number = expected.dtype.kind == "f" or expected.dtype.kind == "V"
    both_nan = (got != got) & (expected != expected) if number else np.zeros(got.shape, bool)
    wrong = np.flatnonzero((got.view(raw) != expected.view(raw)).ravel() & ~both_nan.ravel())
    at = wrong[0] if len(wrong) else 0
    assert not len(wrong), (
        f"{label}: {len(wrong)} of {expected.size} differ; at {at}: {got.flat[at]!r}, not {expected.flat[at]!r}"
    )
