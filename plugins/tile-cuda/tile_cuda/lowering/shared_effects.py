"""Describes the effects of the calls ``cuda.*`` on shared memory, for the race check (tilecore/lowering/race_check)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tile_cuda import instructions
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import constant, op_name
from tilecore.ir.nodes import Bind, Call, PrimFunc, TensorLoad, Var
from tilecore.ir.scopes import is_shared
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.effects import (
    VALUES,
    Access,
    Arrival,
    AsyncAccess,
    Barrier,
    Commit,
    Effect,
    MemoryBarrierWait,
    Wait,
    bytes_of,
    describe_calls,
    nothing,
)
from tilecore.lowering.race_check.values import UNKNOWN, Compute, Expressions, Names, Value

ROW = 16  # bytes of a matrix row, whose address a lane passes to ldmatrix or stmatrix
ROWS = 64  # of A in one wgmma instruction
PATTERN = 8  # rows after which the swizzle pattern repeats
SPANS = {1: 128, 2: 64, 3: 32}  # the code of a swizzle mode in a matrix descriptor -> bytes of a row
WGMMA_GROUPS, STORES = "products", "stores"  # the kinds of asynchronous groups that have commits and waits


def describe() -> None:
    """Registers the effects. Calls on registers, prefetches and releases do not access shared memory by themselves."""
    register_only = (
        instructions.MMA,
        instructions.REGISTER_FENCE,
        instructions.KEEP_REGISTERS,
        instructions.SETMAXNREG,
        instructions.GRID_DEPENDENCY,
        instructions.PREFETCH,
        instructions.PREFETCH_BULK,
        instructions.QUOTIENTS,
        instructions.RELEASE,
        instructions.PROXY_FENCE,
        instructions.ATOMIC_ADD_VECTOR,
        instructions.DESCRIPTOR,
        instructions.DESCRIPTOR_AT,
        instructions.CLUSTER_RANK,
        instructions.REMOTE_STORE,
        instructions.REMOTE_STORE_ASYNC,
        instructions.ADD_REMOTE,
        instructions.CLEAR_SHARED,
    )
    describe_calls(dict.fromkeys(register_only, nothing))
    describe_calls(
        {
            instructions.LDMATRIX: lambda call, func: [_rows(call, 3, False)],
            instructions.STMATRIX: lambda call, func: [_rows(call, 2, True)],
            instructions.MBARRIER: _mbarrier,
            instructions.NAMED_ARRIVE: lambda call, func: [Arrival()],
            instructions.BULK_COPY: _bulk_copy,
            instructions.TMA_LOAD: _tma_load,
            instructions.TMA_STORE: _tma_store,
            instructions.TMA_STORE_GROUP: _tma_store_group,
            instructions.CLUSTER: _cluster,
            instructions.WARPGROUP: _warpgroup,
            instructions.WGMMA: _wgmma,
            instructions.WGMMA_RS: _wgmma,
        }
    )
    VALUES[instructions.DESCRIPTOR] = _descriptor_value
    VALUES[instructions.DESCRIPTOR_AT] = _descriptor_at_value
    VALUES[instructions.UNIFORM] = _uniform_value
    VALUES[instructions.CLUSTER_RANK] = lambda call, expressions: (
        lambda names: 0
    )  # every block of a cluster does the same


def _rows(call: Call, operand_index: int, writes: bool) -> Access:
    """The access of ldmatrix or stmatrix: eight lanes for each matrix, each at the address of a row."""
    return Access(call.args[operand_index], ROW, writes, lanes=PATTERN * int(constant(call.args[0]) or 0))


def _mbarrier(call: Call, func: PrimFunc) -> list[Effect]:
    return [MemoryBarrierWait(call.args[1])] if str(call.args[0].value).startswith("wait") else []


def _bulk_copy(call: Call, func: PrimFunc) -> list[Effect]:
    to, _, size, barrier = call.args
    size_in_bytes = constant(size)
    extent = 1
    for part in to.source.shape:
        extent *= int(constant(part) or 0)
    return [AsyncAccess(to, bytes_of(to, extent) if size_in_bytes is None else size_in_bytes, True, None, barrier)]


def _box_bytes(name: str, func: PrimFunc) -> int:
    """The size of the box of a tensor map in bytes."""
    for tensor_map in json.loads(str(func.attrs[FunctionAttr.LAUNCH]))["tensor_maps"]:
        if name in (tensor_map["parameter"], tensor_map["name"]):
            count = int(np.prod(tensor_map["box"]))
            return -(-count * DType(tensor_map["dtype"]).bits // 8)
    raise ValueError(f"the kernel has no tensor map {name}")


def _tma_load(call: Call, func: PrimFunc) -> list[Effect]:
    name, to, barrier = str(call.args[0].value), call.args[1], call.args[2]
    return [AsyncAccess(to, _box_bytes(name, func), True, None, barrier)]


def _tma_store(call: Call, func: PrimFunc) -> list[Effect]:
    return [AsyncAccess(call.args[1], _box_bytes(str(call.args[0].value), func), False, STORES)]


def _tma_store_group(call: Call, func: PrimFunc) -> list[Effect]:
    if str(call.args[0].value) == "commit_stores":
        return [Commit(STORES)]
    return [Wait(STORES, call.args[1])] if len(call.args) > 1 and not isinstance(call.args[1], TensorLoad) else []


def _cluster(call: Call, func: PrimFunc) -> list[Effect]:
    name = str(call.args[0].value)
    relaxed = name == "wait" and any(
        op_name(other) == instructions.CLUSTER and str(other.args[0].value) == "arrive_relaxed"
        for other in collect(func.body, Call)
    )
    return [Barrier()] if name in ("wait", "barrier") and not relaxed else []


def _warpgroup(call: Call, func: PrimFunc) -> list[Effect]:
    name = str(call.args[0].value)
    if name == "commit":
        return [Commit(WGMMA_GROUPS)]
    return [Wait(WGMMA_GROUPS, call.args[1])] if name == "wait" else []


# -- operands of wgmma ------------------------------------------------------------------------------------------------

_last_descriptors: tuple[Any, dict[Var, Call]] = (None, {})  # a function, and its descriptors


def _descriptors(func: PrimFunc) -> dict[Var, Call]:
    """The variables that hold matrix descriptors, each with the call that builds its descriptor."""
    global _last_descriptors
    if _last_descriptors[0] is None or not func.same_as(_last_descriptors[0]):
        binds = [n for n in collect(func.body, Bind) if op_name(n.value) == instructions.DESCRIPTOR]
        _last_descriptors = func, {bind.var: bind.value for bind in binds}
    return _last_descriptors[1]


def _wgmma(call: Call, func: PrimFunc) -> list[Effect]:
    has_a_in_registers = op_name(call) == instructions.WGMMA_RS
    match = re.match(r"n(\d+)k(\d+)_", str(call.args[0].value))
    if match is None:
        raise ValueError(f"{call.args[0].value} is not the name of a wgmma instruction")
    columns, depth = map(int, match.groups())
    flags = [bool(constant(flag)) for flag in call.args[1 : 2 if has_a_in_registers else 3]]
    a, b = call.args[-3], call.args[-2]
    descriptors = _descriptors(func)
    effects: list[Effect] = [] if has_a_in_registers else [_read(a, flags[0], ROWS, depth, descriptors)]
    return [*effects, _read(b, flags[-1], columns, depth, descriptors)]


def _read(value: Any, across: bool, size: int, depth: int, descriptors: dict[Var, Call]) -> AsyncAccess:
    """The part of an operand that an instruction reads.

    across: whether the operand is stored along M or N, not along K. size: its elements along M or N.
    """
    var = value.args[0] if op_name(value) == instructions.DESCRIPTOR_AT else value
    element, *fields = descriptors[var].args
    leading, stride, code = (int(constant(field) or 0) for field in fields)
    span = SPANS[code]
    if across:
        block = span // bytes_of(element)
        pieces = tuple((index * leading, depth * span) for index in range(-(-size // block)))
    else:
        pieces = tuple((index * stride, PATTERN * span) for index in range(-(-size // PATTERN)))
    return AsyncAccess(element, 0, False, WGMMA_GROUPS, at=value, pieces=pieces, align=PATTERN * span)


def _descriptor_value(call: Call, expressions: Expressions) -> Compute:
    """Computes the value of a matrix descriptor as the address of the first byte of its tile."""
    element = call.args[0]
    index = expressions.compute(element.indices[0])
    start = expressions.start_of(element.source) if is_shared(element.source) else None

    def compute(names: Names) -> Value:
        element_index = index(names)
        return UNKNOWN if element_index is UNKNOWN or start is None else start + element_index * bytes_of(element)

    return compute


def _descriptor_at_value(call: Call, expressions: Expressions) -> Compute:
    descriptor, pieces = (expressions.compute(arg) for arg in call.args)

    def compute(names: Names) -> Value:
        address, piece_count = descriptor(names), pieces(names)
        return UNKNOWN if address is UNKNOWN or piece_count is UNKNOWN else address + piece_count * ROW

    return compute


def _uniform_value(call: Call, expressions: Expressions) -> Callable[[Names], Value]:
    return expressions.compute(call.args[0])
