"""The text in CuTe DSL of the calls of ``tile_cuda.instructions`` that it can express. The others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_cuda import instructions
from tilecore.codegen.expressions import Expressions
from tilecore.codegen.refusal import refuse
from tilecore.codegen.statements import Statements
from tilecore.codegen.text import Text, call
from tilecore.ir.build import constant, op_name


def _mma(emit: Statements, node: Any) -> None:
    name, *operands = node.value.args
    emit.line(f'tc.mma("{name.value}", {", ".join(emit.expressions.place(operand) for operand in operands)})')


def _matrix_move(instruction: str) -> Callable[[Statements, Any], None]:
    def emit_move(emit: Statements, node: Any) -> None:
        count, trans, to, source = node.value.args
        places = ", ".join(emit.expressions.place(operand) for operand in (to, source))
        emit.line(f"tc.{instruction}({constant(count)}, {bool(constant(trans))}, {places})")

    return emit_move


def _atomic_add_vector(emit: Statements, node: Any) -> None:
    to, values, count = node.value.args
    places = ", ".join(emit.expressions.place(operand) for operand in (to, values))
    emit.line(f"tc.atomic_add_x{constant(count)}({places})")


def _quotients(emit: Statements, node: Any) -> None:
    values, divisor, count = node.value.args
    emit.line(f"tc.quotients({constant(count)}, {emit.expressions.place(values)}, {emit.value(divisor)})")


def _prefetch(emit: Statements, node: Any) -> None:
    emit.line(f"tc.prefetch_l2({emit.expressions.place(node.value.args[0])})")


def _prefetch_bulk(emit: Statements, node: Any) -> None:
    element, size = node.value.args
    emit.line(f"tc.prefetch_bulk_l2({emit.expressions.place(element)}, {constant(size)})")


def _named_barrier_arrive(emit: Statements, node: Any) -> None:
    number, threads = node.value.args
    emit.line(f"tc.named_barrier_arrive({emit.value(number)}, {emit.value(threads)})")


def _nothing(emit: Statements, node: Any) -> None:
    """A hint for the compiler of CUDA C++."""


def _refused(emit: Statements, node: Any) -> None:
    what = f"{op_name(node.value)} in CuTe DSL"
    refuse(node.value, emit.dialect.kind, "use another execution backend, such as cython", what)


_NOT_EXPRESSED = (
    instructions.MBARRIER,
    instructions.BULK_COPY,
    instructions.WGMMA,
    instructions.WGMMA_RS,
    instructions.WARPGROUP,
    instructions.KEEP_REGISTERS,
    instructions.TMA_STORE_GROUP,
    instructions.GRID_DEPENDENCY,
    instructions.CLUSTER,
    instructions.SETMAXNREG,
    instructions.RELEASE,
    instructions.REMOTE_STORE,
    instructions.REMOTE_STORE_ASYNC,
    instructions.ADD_REMOTE,
    instructions.CLEAR_SHARED,
    instructions.TMA_LOAD,
    instructions.TMA_STORE,
    instructions.PROXY_FENCE,
)
STATEMENTS: dict[str, Callable[[Statements, Any], None]] = {
    **dict.fromkeys(_NOT_EXPRESSED, _refused),
    instructions.MMA: _mma,
    instructions.LDMATRIX: _matrix_move("ldmatrix"),
    instructions.STMATRIX: _matrix_move("stmatrix"),
    instructions.ATOMIC_ADD_VECTOR: _atomic_add_vector,
    instructions.PREFETCH: _prefetch,
    instructions.PREFETCH_BULK: _prefetch_bulk,
    instructions.QUOTIENTS: _quotients,
    instructions.NAMED_ARRIVE: _named_barrier_arrive,
    instructions.REGISTER_FENCE: _nothing,
    instructions.SCHEDULING_FENCE: _nothing,
}


def _bit_pair(emit: Expressions, node: Any) -> Text:
    value, *numbers = node.args
    return call("tc.bit_pair", emit.value(value), *(str(int(number.value)) for number in numbers))


def _half_of_pair(emit: Expressions, node: Any) -> Text:
    return call("tc.half_of_pair", *(emit.value(argument) for argument in node.args))


def _float_pair(emit: Expressions, node: Any) -> Text:
    return call("tc.float_pair", *(emit.value(argument) for argument in node.args))


def _on_pairs(emit: Expressions, node: Any) -> Text:
    name, *pairs = node.args
    return call("tc.on_pairs", f'"{name.value}"', *(emit.value(pair) for pair in pairs))


def _float_of_pair(emit: Expressions, node: Any) -> Text:
    pair, half = node.args
    return call("tc.float_of_pair", emit.value(pair), str(constant(half)))


def _refused_value(emit: Expressions, node: Any) -> Text:
    what = f"{op_name(node)} in CuTe DSL"
    return refuse(node, emit.dialect.kind, "use another execution backend, such as cython", what)


_VALUES_NOT_EXPRESSED = (instructions.CLUSTER_RANK, instructions.DESCRIPTOR, instructions.DESCRIPTOR_AT)
VALUES: dict[str, Callable[[Expressions, Any], Text]] = {
    **dict.fromkeys(_VALUES_NOT_EXPRESSED, _refused_value),
    instructions.FLOAT_PAIR: _float_pair,
    instructions.ON_PAIRS: _on_pairs,
    instructions.FLOAT_OF_PAIR: _float_of_pair,
    instructions.BIT_PAIR: _bit_pair,
    instructions.HALF_OF_PAIR: _half_of_pair,
    instructions.NEGATIVE: lambda emit, node: call("tc.negative", emit.value(node.args[0])),
    instructions.UNIFORM: lambda emit, node: emit.value(node.args[0]),
}
