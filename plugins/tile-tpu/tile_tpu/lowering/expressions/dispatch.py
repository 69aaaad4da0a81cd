"""The table of expressions: which function lowers which kind of node.

Each function gets the values of the nest and a node whose value varies with the iterations, emits commands, and returns
the value. It raises NotTensor for what the tensor unit cannot do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tile_tpu.lowering.commands.frames import NotTensor, Value
from tile_tpu.lowering.expressions.arithmetic import arithmetic, loop_index
from tile_tpu.lowering.expressions.conditions import FLOAT_TESTS, select, truth_value
from tile_tpu.lowering.expressions.functions import FUNCTIONS
from tile_tpu.lowering.expressions.integers import integer_operator, same_bits
from tile_tpu.lowering.expressions.loads import load_elements
from tilecore.dtypes import FACTS
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.contraction import is_fma, separated
from tilecore.ir.nodes import Call
from tilecore.ir.thread_calls import ROUNDED

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values

Lowering = Callable[["Values", Any], Value]


def lower_expression(values: Values, node: Any) -> Value:
    """Emits the commands of an expression. Raises NotTensor."""
    name = type(node).__name__
    lowering = NODES.get(name)
    if lowering is None:
        raise NotTensor(f"the tensor unit has no operation {name}")
    return lowering(values, node)


def _cast(values: Values, node: Any) -> Value:
    return values.converted(values.tile(node.value), dtype_of(node), dtype_of(node.value))


def _select(values: Values, node: Any) -> Value:
    return select(values, node.condition, node.true_value, node.false_value)


def _bitwise(values: Values, node: Any) -> Value:
    return truth_value(values, node) if dtype_of(node) == "bool" else integer_operator(values, node, dtype_of(node))


def _division(values: Values, node: Any) -> Value:
    if FACTS[dtype_of(node)].kind != "float":
        return integer_operator(values, node, dtype_of(node))
    if type(node).__name__ != "Div":
        raise NotTensor(f"the tensor unit has no operation {type(node).__name__}")
    return arithmetic(values, node)


def _call(values: Values, node: Call) -> Value:
    lowering = CALLS.get(op_name(node))
    if lowering is not None:
        return lowering(values, node)
    if is_fma(node):  # the unit rounds the product and the sum
        return values.value(separated(node))
    return _function(values, node)


def _function(values: Values, node: Call) -> Value:
    """A function of floats, computed in float32."""
    name, dtype = op_name(node), dtype_of(node)
    function = FUNCTIONS.get(name)
    if function is None:
        raise NotTensor(f"the tensor unit has no function {name}")
    if FACTS[dtype].kind != "float" or FACTS[dtype].bits > 32:
        raise NotTensor(f"the tensor unit does not compute {name} of {dtype}")
    operands = [values.converted(values.tile(operand), "float32", dtype_of(operand)) for operand in node.args]
    return values.converted(function(values, *operands), dtype, "float32")


def _reinterpret(values: Values, node: Call) -> Value:
    tile, dtype = values.tile(node.args[0]), dtype_of(node)
    if dtype not in FACTS or FACTS[dtype].bits != FACTS[tile.dtype].bits:
        raise NotTensor(f"the tensor unit does not reinterpret {tile.dtype} as {dtype}")
    return same_bits(values, tile, dtype)


# by the class of the node
NODES: dict[str, Lowering] = {
    "Var": loop_index,
    "TensorLoad": load_elements,
    "Cast": _cast,
    "Call": _call,
    "Select": _select,
    **dict.fromkeys(("Add", "Sub", "Mul", "Min", "Max"), arithmetic),
    **dict.fromkeys(("Div", "Mod", "FloorDiv", "FloorMod"), _division),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "LShift", "RShift"), _bitwise),
    **dict.fromkeys(("LT", "LE", "GT", "GE", "EQ", "NE", "And", "Or", "Not"), truth_value),
}
# by the operation of a call; functions of floats are in ``functions.py``
CALLS: dict[str, Lowering] = {
    "if_then_else": lambda values, node: select(values, *node.args),
    ROUNDED: lambda values, node: values.value(node.args[0]),
    "reinterpret": _reinterpret,
    **dict.fromkeys(FLOAT_TESTS, truth_value),
}
