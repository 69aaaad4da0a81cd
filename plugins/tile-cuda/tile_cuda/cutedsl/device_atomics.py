"""Atomic operations of kernels in CuTe DSL, on an element of global or shared memory. Each returns the value before."""

from __future__ import annotations

from typing import Any

import cutlass.cute as cute
from cutlass import BFloat16, Float16, Float32, Float64, Int16, Int32, Int64
from cutlass._mlir.dialects import llvm

from tile_cuda.cutedsl.device_memory import SHARED, Array, assembly
from tile_cuda.cutedsl.device_numbers import bits

_SCOPE = "device"
_FLOATS = (Float64, Float32, Float16, BFloat16)
_WORDS = {16: (Int16, "h"), 32: (Int32, "r"), 64: (Int64, "l")}  # by width: the type of a register, its constraint
_RELAXED = llvm.AtomicOrdering.monotonic


def _fence_before(order: str) -> None:
    """Orders an operation behind what the thread did before: libNVVM has relaxed operations only."""
    if order == "seq_cst":
        assembly("fence.sc.gpu;", "", [])
    elif order in ("release", "acq_rel"):
        cute.arch.fence_acq_rel_gpu()


def _fence_after(order: str) -> None:
    """Orders what the thread does later behind an operation."""
    if order in ("acquire", "acq_rel", "seq_cst"):
        cute.arch.fence_acq_rel_gpu()


def _changed(operation: Any, array: Array, value: Any, order: str) -> Any:
    _fence_before(order)
    old = llvm.atomicrmw(operation, array.pointer, array.kind(value).ir_value(), _RELAXED, syncscope=_SCOPE)
    _fence_after(order)
    return array.kind(old)


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
    _fence_before(order)
    pair = llvm.cmpxchg(array.pointer, *operands, _RELAXED, _RELAXED, syncscope=_SCOPE)
    _fence_after(order)
    return array.kind(llvm.extractvalue(array.kind.mlir_type, pair, [0]))


def _place(array: Array) -> str:
    return ".shared" if llvm.PointerType(array.pointer.type).address_space == SHARED else ".global"


def atomic_load(array: Array, order: str = "relaxed") -> Any:
    """PTX ISA, "ld": libNVVM has no atomic loads."""
    word, constraint = _WORDS[array.kind.width]
    address = "r" if _place(array) == ".shared" else "l"
    _fence_before("seq_cst" if order == "seq_cst" else "relaxed")
    text = f"ld.relaxed.gpu{_place(array)}.b{word.width} $0, [$1];"
    value = word(assembly(text, f"={constraint},{address}", [array.pointer], word.mlir_type))
    _fence_after(order)
    return bits(array.kind, value)


def atomic_store(array: Array, value: Any, order: str = "relaxed") -> None:
    """PTX ISA, "st": libNVVM has no atomic stores."""
    word, constraint = _WORDS[array.kind.width]
    address = "r" if _place(array) == ".shared" else "l"
    _fence_before(order)
    operands = [array.pointer, bits(word, array.kind(value)).ir_value()]
    assembly(f"st.relaxed.gpu{_place(array)}.b{word.width} [$0], $1;", f"{address},{constraint}", operands)


def _add_neighbours(count: int, to: Array, values: Array, order: str) -> None:
    for number in range(count):
        atomic_add(Array(to.kind, to.address(number)), values[number], order)


def atomic_add_x2(to: Array, values: Array, order: str = "relaxed") -> None:
    """Adds two registers to two neighbouring elements; each addition is atomic by itself."""
    _add_neighbours(2, to, values, order)


def atomic_add_x4(to: Array, values: Array, order: str = "relaxed") -> None:
    """Adds four registers to four neighbouring elements; each addition is atomic by itself."""
    _add_neighbours(4, to, values, order)
