"""Memory of kernels in CuTe DSL: arrays in global, shared and local memory, moves and asynchronous copies."""

from __future__ import annotations

from typing import Any

import cutlass.cute as cute
from cutlass import Boolean, Int32, Int64, Uint8
from cutlass._mlir import ir
from cutlass._mlir.dialects import arith, llvm

GLOBAL, SHARED, LOCAL = 1, 3, 0  # address spaces of NVVM; the stack of a thread is in the generic one
_DYNAMIC = -(2**31)  # the mark of an index that is a value, in the constant indices of llvm.getelementptr


class Array:
    """Memory with elements of the type ``kind``, from ``pointer`` on: ``array[i]`` loads one. A Boolean is a byte."""

    __slots__ = ("kind", "pointer")

    def __init__(self, kind: Any, pointer: Any) -> None:
        self.kind, self.pointer = kind, pointer

    @property
    def word(self) -> Any:
        """The type of an element in memory."""
        return Uint8 if self.kind is Boolean else self.kind

    def address(self, index: Any) -> Any:
        """The address of an element, as a value of MLIR."""
        return step(self.pointer, index, self.word.mlir_type)

    @property
    def alignment(self) -> int:
        """Bytes that an element's address is a multiple of. Without it the compiler takes 4 for integers of 8 bytes,
        and moves them by halves."""
        return max(1, int(self.word.width) // 8)

    def __getitem__(self, index: Any) -> Any:
        value = self.word(llvm.load(self.word.mlir_type, self.address(index), alignment=self.alignment))
        return value != 0 if self.kind is Boolean else value


def step(pointer: Any, index: Any, kind: Any) -> Any:
    """The address ``index`` elements of the MLIR type ``kind`` behind a pointer."""
    if isinstance(index, int):
        return pointer if index == 0 else llvm.getelementptr(pointer.type, pointer, [], [index], kind, None)
    return llvm.getelementptr(pointer.type, pointer, [Int64(index).ir_value()], [_DYNAMIC], kind, None)


def tensor(address: Any, kind: Any) -> Array:
    """A tensor in global memory. address: of its first element, an Int64."""
    return Array(kind, llvm.inttoptr(llvm.PointerType.get(GLOBAL), address.ir_value()))


def shared(size: int) -> Array:
    """The shared memory of the block, ``size`` bytes, at a multiple of 1024."""
    pointer = cute.arch.get_dyn_smem(Uint8, alignment=1024)
    address = Int32(pointer.toint()).ir_value()
    return Array(Uint8, llvm.inttoptr(llvm.PointerType.get(SHARED), address))


def in_shared(arena: Array, offset: int, kind: Any) -> Array:
    """A buffer in shared memory, ``offset`` bytes into it."""
    return Array(kind, step(arena.pointer, offset, Uint8.mlir_type))


def local(kind: Any, count: int, align: int = 0) -> Array:
    """``count`` elements of the thread's own memory. The compiler keeps them in registers where it can."""
    word = Uint8 if kind is Boolean else kind
    number = arith.constant(Int32.mlir_type, count)
    alignment = align if align > word.width // 8 else word.width // 8
    return Array(kind, llvm.alloca(llvm.PointerType.get(LOCAL), number, word.mlir_type, alignment=alignment))


def view(array: Array, kind: Any) -> Array:
    """The memory of an array with elements of another type."""
    return Array(kind, array.pointer)


def at(array: Array, index: Any) -> Array:
    """The memory of an array from an element on."""
    return Array(array.kind, array.address(index))


def store(array: Array, index: Any, value: Any) -> None:
    """``array[index] = value``, as a function: the DSL would carry an array that is assigned to out of a branch."""
    number = array.kind(value)
    if array.kind is Boolean:
        number = Uint8(number)
    llvm.store(number.ir_value(), array.address(index), alignment=array.alignment)


def move(size: int, to: Array, source: Array) -> None:
    """Copies ``size`` bytes, 1, 2, 4, 8 or 16, by one instruction; both addresses are multiples of ``size``."""
    kind = ir.IntegerType.get_signless(8 * size) if size < 4 else ir.VectorType.get([size // 4], Int32.mlir_type)
    llvm.store(llvm.load(kind, source.pointer, alignment=size), to.pointer, alignment=size)


def shared_address(array: Array) -> Any:
    """The 32-bit address of an array in shared memory."""
    return llvm.ptrtoint(Int32.mlir_type, array.pointer)


def assembly(text: str, constraints: str, operands: list[Any], result: Any = None) -> Any:
    """An instruction of PTX that accesses memory or orders accesses: the compiler moves none across it."""
    clobbered = f"{constraints},~{{memory}}" if constraints else "~{memory}"
    return llvm.inline_asm(result, operands, text, clobbered, has_side_effects=True)


def copy_async(size: int, to: Array, source: Array, valid: Any) -> None:
    """Starts a copy of 4, 8 or 16 bytes from global to shared memory; zeros are written where ``valid`` is false.

    PTX ISA, "cp.async": bytes behind the source size are filled with zeros.
    """
    way = "cg" if size == 16 else "ca"
    count = Int32(size).ir_value()
    if valid is not True:
        count = arith.select(Boolean(valid).ir_value(), count, Int32(0).ir_value())
    operands = [shared_address(to), source.pointer, count]
    assembly(f"cp.async.{way}.shared.global [$0], [$1], {size}, $2;", "r,l,r", operands)


def commit_async() -> None:
    """The copies that this thread started since its last commit become one group."""
    assembly("cp.async.commit_group;", "", [])


def wait_async(groups: int) -> None:
    """Waits for all groups of copies of this thread but the last ``groups``."""
    assembly(f"cp.async.wait_group {groups};", "", [])


def prefetch_l2(array: Array) -> None:
    """Loads the cache line of an element of global memory into L2."""
    assembly("prefetch.global.L2 [$0];", "l", [array.pointer])


def prefetch_bulk_l2(array: Array, size: int) -> None:
    """Loads ``size`` bytes from an element of global memory on into L2, by whole pieces of 16 bytes."""
    text = (
        "{ .reg .b64 start, behind; .reg .b32 bytes; and.b64 start, $0, -16; "
        f"add.u64 behind, $0, {size + 15}; and.b64 behind, behind, -16; sub.u64 behind, behind, start; "
        "cvt.u32.u64 bytes, behind; cp.async.bulk.prefetch.L2.global [start], bytes; }"
    )
    assembly(text, "l", [array.pointer])
