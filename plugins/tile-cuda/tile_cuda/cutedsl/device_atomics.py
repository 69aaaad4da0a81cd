"""Atomic operations of kernels in CuTe DSL, on an element of global or shared memory. Each returns the value before."""

from __future__ import annotations

from typing import Any

from cutlass import BFloat16, Float16, Float32, Float64
from cutlass._mlir.dialects import llvm

from tile_cuda.cutedsl.device_memory import Array

_SCOPE = "device"
_FLOATS = (Float64, Float32, Float16, BFloat16)
_ORDERS = {
    "relaxed": llvm.AtomicOrdering.monotonic,
    "acquire": llvm.AtomicOrdering.acquire,
    "release": llvm.AtomicOrdering.release,
    "acq_rel": llvm.AtomicOrdering.acq_rel,
    "seq_cst": llvm.AtomicOrdering.seq_cst,
}
_AT_LOADS = {"release": "relaxed", "acq_rel": "acquire"}  # what a load has of an order
_AT_STORES = {"acquire": "relaxed", "acq_rel": "release"}  # what a store has of it


def _changed(operation: Any, array: Array, value: Any, order: str) -> Any:
    result = llvm.atomicrmw(operation, array.pointer, array.kind(value).ir_value(), _ORDERS[order], syncscope=_SCOPE)
    return array.kind(result)


def atomic_add(array: Array, value: Any, order: str = "relaxed") -> Any:
    operation = llvm.AtomicBinOp.fadd if array.kind in _FLOATS else llvm.AtomicBinOp.add
    return _changed(operation, array, value, order)


def atomic_max(array: Array, value: Any, order: str = "relaxed") -> Any:
    """Of integers."""
    return _changed(llvm.AtomicBinOp.max if array.kind.signed else llvm.AtomicBinOp.umax, array, value, order)


def atomic_min(array: Array, value: Any, order: str = "relaxed") -> Any:
    """Of integers."""
    return _changed(llvm.AtomicBinOp.min if array.kind.signed else llvm.AtomicBinOp.umin, array, value, order)


def atomic_and(array: Array, value: Any, order: str = "relaxed") -> Any:
    return _changed(llvm.AtomicBinOp._and, array, value, order)


def atomic_or(array: Array, value: Any, order: str = "relaxed") -> Any:
    return _changed(llvm.AtomicBinOp._or, array, value, order)


def atomic_xor(array: Array, value: Any, order: str = "relaxed") -> Any:
    return _changed(llvm.AtomicBinOp._xor, array, value, order)


def atomic_exchange(array: Array, value: Any, order: str = "relaxed") -> Any:
    return _changed(llvm.AtomicBinOp.xchg, array, value, order)


def atomic_cas(array: Array, expected: Any, value: Any, order: str = "relaxed") -> Any:
    """Replaces an element, an integer, that equals ``expected``."""
    operands = [array.kind(operand).ir_value() for operand in (expected, value)]
    failed = _ORDERS[_AT_LOADS.get(order, order)]
    pair = llvm.cmpxchg(array.pointer, *operands, _ORDERS[order], failed, syncscope=_SCOPE)
    return array.kind(llvm.extractvalue(array.kind.mlir_type, pair, [0]))


def atomic_load(array: Array, order: str = "relaxed") -> Any:
    ordering = _ORDERS[_AT_LOADS.get(order, order)]
    size = array.kind.width // 8
    kind = array.kind.mlir_type
    return array.kind(llvm.load(kind, array.pointer, ordering=ordering, syncscope=_SCOPE, alignment=size))


def atomic_store(array: Array, value: Any, order: str = "relaxed") -> None:
    ordering = _ORDERS[_AT_STORES.get(order, order)]
    size = array.kind.width // 8
    llvm.store(array.kind(value).ir_value(), array.pointer, ordering=ordering, syncscope=_SCOPE, alignment=size)


def _add_neighbours(count: int, to: Array, values: Array, order: str) -> None:
    for number in range(count):
        atomic_add(Array(to.kind, to.address(number)), values[number], order)


def atomic_add_x2(to: Array, values: Array, order: str = "relaxed") -> None:
    """Adds two registers to two neighbouring elements; each addition is atomic by itself."""
    _add_neighbours(2, to, values, order)


def atomic_add_x4(to: Array, values: Array, order: str = "relaxed") -> None:
    """Adds four registers to four neighbouring elements; each addition is atomic by itself."""
    _add_neighbours(4, to, values, order)
