"""Floating-point operations of expressions and of tile operations."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from tilecore.dtypes import FACTS, split_vector
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.intrinsics import DIRECTED, ROUNDED
from tilecore.ir.nodes import Call, Expr, TensorLoad, TensorRegion
from tilecore.ir.tile_ops import TileCall
from tilecore.profiler.work.values import Values

_ARITHMETIC = frozenset("Add Sub Mul Div FloorDiv FloorMod Mod Min Max".split())
_FUSED = frozenset({"fma"})  # a product and a sum
# calls that choose or rewrite values, and compute nothing
_NO_OPERATION = frozenset("if_then_else reinterpret likely isnan isinf isfinite fabs copysign large_uint_imm".split())
_ATOMIC = ("add", "max", "min")
_JOINING = frozenset("sum prod max min abssum absmax".split())
# tile operations without arithmetic on elements
_MOVES = frozenset(
    "copy transpose fill sync_threads print device_assert assume annotate finalize_reducer reduce_partials shuffle "
    "ballot".split()
)


def operations_of_node(node: Expr) -> int:
    """Floating-point operations of one node, without those of its operands: one for each of + - * /, minimum, maximum
    and mathematical function and for each lane of a vector, two for a fused multiply-add. Conversions, comparisons and
    choices are none; arithmetic of integers, as that of indices, is none either."""
    dtype = dtype_of(node)
    element, lanes = split_vector(dtype) if dtype else ("", 1)
    if element not in FACTS or FACTS[element].kind != "float":
        return 0
    if type(node).__name__ in _ARITHMETIC:
        return lanes
    if not isinstance(node, Call):
        return 0
    name = op_name(node)
    if name == DIRECTED:
        return lanes * (2 if str(node.args[1].value) == "fma" else 1)
    short = name.rpartition(".")[2]
    if name == ROUNDED or short in _NO_OPERATION or name.startswith("tile."):
        return 0
    return lanes * (2 if short in _FUSED else 1)


def operands_of(node: Expr) -> Iterator[Expr]:
    """The expressions that a node computes with; of a load, those of its indices."""
    if isinstance(node, TensorLoad):
        yield from node.indices
    elif isinstance(node, Call):
        yield from (argument for argument in node.args if isinstance(argument, Expr))
    else:
        for name in ("a", "b", "value", "condition", "true_value", "false_value", "base", "stride", "body"):
            operand = getattr(node, name, None)
            if isinstance(operand, Expr):
                yield operand


def is_product(call: TileCall) -> bool:
    """Is the operation a product of matrices, A, B and C? A backend's own has a name that ends so, too."""
    return call.op.name.endswith("gemm") and {"a", "b", "c"} <= call.args.keys()


def operations_of_call(call: TileCall, values: Values) -> int | None:
    """Operations of one execution of anything but a matrix product; None where they are not known. Raises
    DataDependentError for regions of unknown size.

    A reduction of n elements to one has n - 1, and n where it joins what the destination has.
    """
    name = call.op.name.rpartition(".")[2]  # a backend's own operation has the name of what it does
    if name in _MOVES or name.endswith("_copy"):
        return 0
    if name == "reduce":
        source, target = _elements(call.src, values), _elements(call.dst, values)
        return source - target * bool(call.clear) if _counts(call.src, call.kind) else 0
    if name == "scan":
        source = _elements(call.src, values)
        lines = source // max(values.known(call.src.region[call.dim].extent), 1)
        return source - lines if _counts(call.src, call.kind) else 0
    if name == "atomic":
        return _elements(call.dst, values) if call.kind in _ATOMIC and _is_float(call.dst) else 0
    if name == "atomic_element":
        return int(str(call.kind) in _ATOMIC and _is_float(call.dst))
    if name == "allreduce":
        return int(str(call.kind) in _JOINING and _is_float(call.value))
    return None


def _counts(region: TensorRegion, kind: str) -> bool:
    return kind in _JOINING and _is_float(region)


def _is_float(operand: Any) -> bool:
    dtype = dtype_of(getattr(operand, "source", operand))
    element = split_vector(dtype)[0]
    return element in FACTS and FACTS[element].kind == "float"


def _elements(region: TensorRegion, values: Values) -> int:
    return prod(values.known(part.extent) for part in region.region)
