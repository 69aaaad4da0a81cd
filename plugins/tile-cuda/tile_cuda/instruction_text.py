"""The CUDA C++ text of each call of ``tile_cuda.instructions``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_cuda import instructions
from tilecore.codegen.expressions import Expressions
from tilecore.codegen.refusal import refuse
from tilecore.codegen.statements import Statements
from tilecore.codegen.text import Text
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, Div, FloatImm, TensorLoad
from tilecore.ir.thread_calls import ROUNDED


def _operand(emit: Statements, node: Any) -> str:
    """The address of an element, or the value of any other expression."""
    return emit.expressions.place(node) if isinstance(node, TensorLoad) else str(emit.value(node))


def _mma(emit: Statements, node: Any) -> None:
    name, *operands = node.value.args
    emit.line(f"tc_mma_{name.value}({', '.join(_operand(emit, o) for o in operands)});")


def _matrix_move(instruction: str) -> Callable[[Statements, Any], None]:
    def emit_move(emit: Statements, node: Any) -> None:
        count, trans, to, source = node.value.args
        if constant(count) not in (1, 2, 4):
            refuse(node.value, emit.dialect.kind, what=f"{instruction} of {constant(count)} matrices")
        suffix = "_trans" if constant(trans) else ""
        emit.line(f"tc_{instruction}_x{constant(count)}{suffix}({_operand(emit, to)}, {_operand(emit, source)});")

    return emit_move


def _mbarrier(emit: Statements, node: Any) -> None:
    name, *operands = node.value.args
    emit.line(f"tc_transaction_{name.value}({', '.join(_operand(emit, o) for o in operands)});")


def _bulk_copy(emit: Statements, node: Any) -> None:
    emit.line(f"tc_bulk_copy_async({', '.join(_operand(emit, o) for o in node.value.args)});")


def _atomic_add_vector(emit: Statements, node: Any) -> None:
    to, values, count = node.value.args
    if constant(count) not in (2, 4):
        refuse(node.value, emit.dialect.kind, what=f"an atomic addition of {constant(count)} elements")
    emit.line(f"tc_atomic_add_x{constant(count)}({_operand(emit, to)}, {_operand(emit, values)});")


def _quotients(emit: Statements, node: Any) -> None:
    values, divisor, count = node.value.args
    emit.line(f"tc_quotients<{constant(count)}>({_operand(emit, values)}, {emit.value(divisor)});")


def _prefetch(emit: Statements, node: Any) -> None:
    emit.line(f"tc_prefetch_l2({_operand(emit, node.value.args[0])});")


def _prefetch_bulk(emit: Statements, node: Any) -> None:
    element, size = node.value.args
    emit.line(f"tc_prefetch_bulk_l2({_operand(emit, element)}, {constant(size)});")


def _wgmma(emit: Statements, node: Any) -> None:
    name, by_m, by_n, accumulator, *rest = node.value.args
    flags = ", ".join("true" if constant(flag) else "false" for flag in (by_m, by_n))
    operands = ", ".join([_operand(emit, accumulator), *(str(emit.value(value)) for value in rest)])
    emit.line(f"tc_wgmma_{name.value}<{flags}>({operands});")


def _wgmma_rs(emit: Statements, node: Any) -> None:
    name, by_n, accumulator, a, *rest = node.value.args
    operands = ", ".join([_operand(emit, accumulator), _operand(emit, a), *(str(emit.value(value)) for value in rest)])
    emit.line(f"tc_wgmma_held_{name.value}<{'true' if constant(by_n) else 'false'}>({operands});")


def _descriptor(emit: Expressions, node: Any) -> Text:
    element, *fields = node.args
    return Text(f"tc_operand({', '.join([emit.place(element), *(str(constant(field)) for field in fields)])})")


def _descriptor_at(emit: Expressions, node: Any) -> Text:
    descriptor, pieces = node.args
    return Text(f"tc_operand_at({emit.value(descriptor)}, {constant(pieces)})")


def _with_template_arguments(prefix: str) -> Callable[[Statements, Any], None]:
    """``<prefix><name><constants>()``: the constants are template arguments."""

    def emit_call(emit: Statements, node: Any) -> None:
        name, *rest = node.value.args
        constants = [str(constant(n)) for n in rest if not isinstance(n, TensorLoad)]
        template = f"<{', '.join(constants)}>" if constants else ""
        emit.line(f"{prefix}{name.value}{template}();")

    return emit_call


def _register_fence(emit: Statements, node: Any) -> None:
    count, first = node.value.args
    emit.line(f"tc_warpgroup_settle<{constant(count)}>({_operand(emit, first)});")


def _keep_registers(emit: Statements, node: Any) -> None:
    count, first = node.value.args
    emit.line(f"tc_keep_registers<{constant(count)}>({_operand(emit, first)});")


def _scheduling_fence(emit: Statements, node: Any) -> None:
    emit.line(f"tc_scheduling_fence({emit.value(node.value.args[0])});")


def _tma_load(emit: Statements, node: Any) -> None:
    name, to, barrier, mask, *coordinates = node.value.args
    blocks, policy = constant(mask), instructions.eviction_policy(node.value)
    function = "tc_tensor_load" + ("_multicast" if blocks else "") + ("_hinted" if policy else "")
    options = [*([str(blocks)] if blocks else []), *([f"tc_{policy}()"] if policy else [])]
    arguments = [_operand(emit, to), f"&{name.value}", _operand(emit, barrier), *options]
    emit.line(f"{function}({', '.join([*arguments, *(str(emit.value(c)) for c in coordinates)])});")


def _tma_store(emit: Statements, node: Any) -> None:
    name, source, *coordinates = node.value.args
    arguments = [f"&{name.value}", _operand(emit, source), *(str(emit.value(c)) for c in coordinates)]
    function = "tc_tensor_add" if instructions.is_add(node.value) else "tc_tensor_store"
    emit.line(f"{function}({', '.join(arguments)});")


def _proxy_fence(emit: Statements, node: Any) -> None:
    emit.line("tc_fence_async();")


def _clear_shared(emit: Statements, node: Any) -> None:
    size, threads, element, thread = node.value.args
    template = f"<{constant(size)}, {constant(threads)}>"
    emit.line(f"tc_clear_shared{template}({_operand(emit, element)}, {emit.value(thread)});")


def _remote_store(emit: Statements, node: Any) -> None:
    to, value, rank = node.value.args
    emit.line(f"tc_store_remote({_operand(emit, to)}, {emit.value(value)}, {emit.value(rank)});")


def _remote_store_async(emit: Statements, node: Any) -> None:
    to, value, barrier, rank = node.value.args
    arguments = [_operand(emit, to), str(emit.value(value)), _operand(emit, barrier), str(emit.value(rank))]
    emit.line(f"tc_store_remote_async({', '.join(arguments)});")


def _add_remote(emit: Statements, node: Any) -> None:
    count, registers, element, rank = node.value.args
    arguments = [_operand(emit, registers), _operand(emit, element), str(constant(rank))]
    emit.line(f"tc_add_remote<{constant(count)}>({', '.join(arguments)});")


def _named_arrive(emit: Statements, node: Any) -> None:
    emit.line(f"tc_named_barrier_arrive({', '.join(str(emit.value(value)) for value in node.value.args)});")


STATEMENTS: dict[str, Callable[[Statements, Any], None]] = {
    instructions.MMA: _mma,
    instructions.LDMATRIX: _matrix_move("ldmatrix"),
    instructions.STMATRIX: _matrix_move("stmatrix"),
    instructions.MBARRIER: _mbarrier,
    instructions.BULK_COPY: _bulk_copy,
    instructions.ATOMIC_ADD_VECTOR: _atomic_add_vector,
    instructions.PREFETCH: _prefetch,
    instructions.PREFETCH_BULK: _prefetch_bulk,
    instructions.QUOTIENTS: _quotients,
    instructions.WGMMA: _wgmma,
    instructions.WGMMA_RS: _wgmma_rs,
    instructions.WARPGROUP: _with_template_arguments("tc_warpgroup_"),
    instructions.TMA_STORE_GROUP: _with_template_arguments("tc_"),
    instructions.GRID_DEPENDENCY: _with_template_arguments("tc_grid_"),
    instructions.CLUSTER: _with_template_arguments("tc_cluster_"),
    instructions.NAMED_ARRIVE: _named_arrive,
    instructions.REMOTE_STORE: _remote_store,
    instructions.REMOTE_STORE_ASYNC: _remote_store_async,
    instructions.ADD_REMOTE: _add_remote,
    instructions.SETMAXNREG: _with_template_arguments("tc_registers_"),
    instructions.REGISTER_FENCE: _register_fence,
    instructions.KEEP_REGISTERS: _keep_registers,
    instructions.SCHEDULING_FENCE: _scheduling_fence,
    instructions.TMA_LOAD: _tma_load,
    instructions.TMA_STORE: _tma_store,
    instructions.PROXY_FENCE: _proxy_fence,
    instructions.CLEAR_SHARED: _clear_shared,
}


def _bit_pair(emit: Expressions, node: Any) -> Text:
    shift, mask, bits = (int(arg.value) for arg in node.args[1:])
    return Text(f"tc_bit_pair<{shift}, {mask:#x}, {bits:#x}>({emit.value(node.args[0])})")


def _half_of_pair(emit: Expressions, node: Any) -> Text:
    pair, index = node.args
    return Text(f"tc_half_of_pair({emit.value(pair)}, {emit.value(index)})")


def _on_pairs(emit: Expressions, node: Any) -> Text:
    operation, *pairs = node.args
    return Text(f"tc_pair_{operation.value}({', '.join(str(emit.value(pair)) for pair in pairs)})")


def _float_of_pair(emit: Expressions, node: Any) -> Text:
    pair, lane = node.args
    return Text(f"tc_{'high' if constant(lane) else 'low'}({emit.value(pair)})")


def _float_pair(emit: Expressions, node: Any) -> Text:
    return Text(f"tc_float_pair({', '.join(str(emit.value(value)) for value in node.args)})")


def _rounded(emit: Any, node: Any) -> Text:
    """A value that is rounded by itself: its quotients and square roots are exact even where the compiler's fast
    mathematics (--use_fast_math) makes others approximate."""
    inner = node.args[0]
    if dtype_of(inner) in ("float32", "float64"):
        if isinstance(inner, Div):
            if isinstance(inner.a, FloatImm) and inner.a.value == 1:
                return Text(f"tc_rcp_rn({emit.value(inner.b)})")
            return Text(f"tc_div_rn({emit.value(inner.a)}, {emit.value(inner.b)})")
        if isinstance(inner, Call) and op_name(inner) == "sqrt":
            return Text(f"tc_sqrt_rn({emit.value(inner.args[0])})")
    rounded: Text = emit.rounded_value(node)
    return rounded


VALUES: dict[str, Callable[[Expressions, Any], Text]] = {
    ROUNDED: _rounded,
    instructions.DESCRIPTOR: _descriptor,
    instructions.DESCRIPTOR_AT: _descriptor_at,
    instructions.CLUSTER_RANK: lambda emit, node: Text("(int)tc_cluster_rank()"),
    instructions.BIT_PAIR: _bit_pair,
    instructions.HALF_OF_PAIR: _half_of_pair,
    instructions.FLOAT_PAIR: _float_pair,
    instructions.ON_PAIRS: _on_pairs,
    instructions.FLOAT_OF_PAIR: _float_of_pair,
    instructions.NEGATIVE: lambda emit, node: Text(f"tc_negative({emit.value(node.args[0])})"),
    instructions.UNIFORM: lambda emit, node: Text(f"tc_uniform({emit.value(node.args[0])})"),
}
