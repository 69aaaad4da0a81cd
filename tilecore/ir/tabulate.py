"""Evaluates index functions at every element of a tile, for layouts that users write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilecore.errors import UnsupportedError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Cast, Expr, IntImm, Not, Select, Var

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Div": lambda a, b: np.trunc(a / b).astype(np.int64),
    "Mod": lambda a, b: np.fmod(a, b),
    "Min": np.minimum,
    "Max": np.maximum,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "LShift": np.left_shift,
    "RShift": np.right_shift,
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
}


def tabulate(variables: Sequence[Var], values: Sequence[Expr], shape: Sequence[int]) -> list[np.ndarray]:
    """Each of ``values``, an integer expression of ``variables``, at every index of ``shape``: int64 arrays of that
    shape. Raises UnsupportedError for an expression with anything but arithmetic in it."""
    indices = np.indices(tuple(shape), dtype=np.int64)
    # pairs and no dict: while a kernel is traced, variables cannot be compared as a dict compares its keys
    indices_of = list(zip(variables, indices, strict=True))
    return [np.broadcast_to(_value(value, indices_of), tuple(shape)).astype(np.int64) for value in values]


def _value(node: Any, indices_of: list[tuple[Var, np.ndarray]]) -> Any:
    if isinstance(node, IntImm):
        return np.int64(int(node))
    if isinstance(node, Var):
        for variable, indices in indices_of:
            if node.same_as(variable):
                return indices
    if isinstance(node, Cast):
        return _value(node.value, indices_of)
    if isinstance(node, Not):
        return np.logical_not(_value(node.a, indices_of))
    if isinstance(node, Select) or op_name(node) == "if_then_else":
        parts = (node.condition, node.true_value, node.false_value) if isinstance(node, Select) else node.args
        return np.where(*(_value(part, indices_of) for part in parts))
    operation = _BINARY.get(type(node).__name__)
    if operation is None:
        raise UnsupportedError(
            f"the function of a layout contains {node}", expected="integer arithmetic on the indices of the element"
        )
    return operation(_value(node.a, indices_of), _value(node.b, indices_of))
