"""What the target's own calls do to shared memory, for the proof that barriers order it
(tilecore/lowering/race_check)."""

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

ROW = 16  # bytes that a lane names in a load or store of matrices
ROWS = 64  # of A in one product of a warpgroup
PATTERN = 8  # rows
SPANS = {1: 128, 2: 64, 3: 32}  # bytes of a row of an operand, by the code of its swizzle
PRODUCTS, STORES = "products", "stores"  # channels


def describe() -> None:
    """Tell the core. Calls of registers, prefetches and arrivals touch nothing that others wait for here."""
    register_only = (
        instructions.MMA,
        instructions.REGISTER_FENCE,
        instructions.SETMAXNREG,
        instructions.GRID_DEPENDENCY,
        instructions.PREFETCH,
        instructions.QUOTIENTS,
        instructions.RELEASE,
        instructions.PROXY_FENCE,
        instructions.ATOMIC_ADD_VECTOR,
        instructions.DESCRIPTOR,
        instructions.DESCRIPTOR_AT,
        instructions.CLUSTER_RANK,
    )
    describe_calls(dict.fromkeys(register_only, nothing))
    describe_calls(
        {
            instructions.LDMATRIX: lambda call, func: [_rows(call, 3, False)],
            instructions.STMATRIX: lambda call, func: [_rows(call, 2, True)],
            instructions.MBARRIER: _transaction,
            instructions.BULK_COPY: _bulk_copy,
            instructions.TMA_LOAD: _tensor_load,
            instructions.TMA_STORE: _tensor_store,
            instructions.TMA_STORE_GROUP: _stores,
            instructions.CLUSTER: _cluster,
            instructions.WARPGROUP: _warpgroup,
            instructions.WGMMA: _product,
            instructions.WGMMA_RS: _product,
        }
    )
    VALUES.update(
        {instructions.DESCRIPTOR: _operand, instructions.DESCRIPTOR_AT: _operand_at, instructions.UNIFORM: _same}
    )
    VALUES[instructions.CLUSTER_RANK] = lambda call, expressions: lambda names: 0  # the blocks of a cluster do the same


def _rows(call: Call, at: int, writes: bool) -> Access:
    """A load or store of matrices: each lane names a row, of as many tiles of 8 as there are."""
    return Access(call.args[at], ROW, writes, lanes=PATTERN * int(constant(call.args[0]) or 0))


def _transaction(call: Call, func: PrimFunc) -> list[Effect]:
    return [MemoryBarrierWait(call.args[1])] if str(call.args[0].value) == "wait" else []


def _bulk_copy(call: Call, func: PrimFunc) -> list[Effect]:
    to, _, size, barrier = call.args
    size_in_bytes = constant(size)
    extent = 1
    for part in to.source.shape:
        extent *= int(constant(part) or 0)
    return [AsyncAccess(to, bytes_of(to, extent) if size_in_bytes is None else size_in_bytes, True, None, barrier)]


def _box(name: str, func: PrimFunc) -> int:
    """Bytes of a tensor map's box."""
    for each in json.loads(str(func.attrs[FunctionAttr.LAUNCH]))["tensor_maps"]:
        if name in (each["parameter"], each["name"]):
            count = int(np.prod(each["box"]))
            return -(-count * DType(each["dtype"]).bits // 8)
    raise ValueError(f"the kernel has no tensor map {name}")


def _tensor_load(call: Call, func: PrimFunc) -> list[Effect]:
    name, to, barrier = str(call.args[0].value), call.args[1], call.args[2]
    return [AsyncAccess(to, _box(name, func), True, None, barrier)]


def _tensor_store(call: Call, func: PrimFunc) -> list[Effect]:
    return [AsyncAccess(call.args[1], _box(str(call.args[0].value), func), False, STORES)]


def _stores(call: Call, func: PrimFunc) -> list[Effect]:
    if str(call.args[0].value) == "commit_stores":
        return [Commit(STORES)]
    return [Wait(STORES, call.args[1])] if len(call.args) > 1 and not isinstance(call.args[1], TensorLoad) else []


def _cluster(call: Call, func: PrimFunc) -> list[Effect]:
    return [Barrier()] if str(call.args[0].value) in ("wait", "barrier") else []


def _warpgroup(call: Call, func: PrimFunc) -> list[Effect]:
    name = str(call.args[0].value)
    if name == "commit":
        return [Commit(PRODUCTS)]
    return [Wait(PRODUCTS, call.args[1])] if name == "wait" else []


# -- operands of products ---------------------------------------------------------------------------------------------

_described: tuple[Any, dict[Var, Call]] = (None, {})


def _descriptions(func: PrimFunc) -> dict[Var, Call]:
    """The names of descriptions of operands, each with the call that makes it."""
    global _described
    if _described[0] is None or not func.same_as(_described[0]):
        calls = [n for n in collect(func.body, Bind) if op_name(n.value) == instructions.DESCRIPTOR]
        _described = func, {bind.var: bind.value for bind in calls}
    return _described[1]


def _product(call: Call, func: PrimFunc) -> list[Effect]:
    has_a_in_registers = op_name(call) == instructions.WGMMA_RS
    match = re.match(r"n(\d+)k(\d+)_", str(call.args[0].value))
    if match is None:
        raise ValueError(f"{call.args[0].value} is no product of a warpgroup")
    columns, depth = map(int, match.groups())
    flags = [bool(constant(flag)) for flag in call.args[1 : 2 if has_a_in_registers else 3]]
    a, b = call.args[-3], call.args[-2]
    described = _descriptions(func)
    effects: list[Effect] = [] if has_a_in_registers else [_read(a, flags[0], ROWS, depth, described)]
    return [*effects, _read(b, flags[-1], columns, depth, described)]


def _read(value: Any, across: bool, size: int, depth: int, described: dict[Var, Call]) -> AsyncAccess:
    """What a product reads of an operand. across: does memory go along M or N? size: elements along it."""
    var = value.args[0] if op_name(value) == instructions.DESCRIPTOR_AT else value
    element, *numbers = described[var].args
    leading, stride, code = (int(constant(number) or 0) for number in numbers)
    span = SPANS[code]
    if across:
        block = span // bytes_of(element)
        pieces = tuple((number * leading, depth * span) for number in range(-(-size // block)))
    else:
        pieces = tuple((number * stride, PATTERN * span) for number in range(-(-size // PATTERN)))
    return AsyncAccess(element, 0, False, PRODUCTS, at=value, pieces=pieces, align=PATTERN * span)


def _operand(call: Call, expressions: Expressions) -> Compute:
    """The first byte of what is described."""
    element = call.args[0]
    index = expressions.compute(element.indices[0])
    start = expressions.start_of(element.source) if is_shared(element.source) else None

    def compute(names: Names) -> Value:
        at = index(names)
        return UNKNOWN if at is UNKNOWN or start is None else start + at * bytes_of(element)

    return compute


def _operand_at(call: Call, expressions: Expressions) -> Compute:
    tile, pieces = (expressions.compute(arg) for arg in call.args)

    def compute(names: Names) -> Value:
        at, further = tile(names), pieces(names)
        return UNKNOWN if at is UNKNOWN or further is UNKNOWN else at + further * ROW

    return compute


def _same(call: Call, expressions: Expressions) -> Callable[[Names], Value]:
    return expressions.compute(call.args[0])
