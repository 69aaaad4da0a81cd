"""The target's own calls in thread IR, ``cuda.*``: matrix instructions, their loads and stores, transaction barriers.

Operands that name registers or memory are elements (BufferLoad): the first register of a thread's fragment, the first
byte of a row. Every function here returns a statement.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const
from tilecore.ir.nodes import Call, Evaluate, Stmt, StringImm
from tilecore.ir.register_call import register_call

# (instruction, d, a, b): the header's tc_mma_<instruction>, such as m16n8k16_f16_f32
MMA = register_call("cuda.mma")
# (count, trans, to, row): 1, 2 or 4 tiles of 8 x 8 elements of 16 bits
LDMATRIX = register_call("cuda.ldmatrix")
STMATRIX = register_call("cuda.stmatrix")  # (count, trans, row, from)
# (barrier, count) and the like: the header's tc_transaction_<name>
TRANSACTION = register_call("cuda.transaction")
# (to, from, bytes, barrier)
BULK_COPY = register_call("cuda.bulk_copy")
# (to, values, count): neighbouring elements of global memory, added at once
ATOMIC_ADD_VECTOR = register_call("cuda.atomic_add_vector")
PREFETCH = register_call("cuda.prefetch_l2")  # (element)

TRANSACTIONS = (
    "init drop arrive arrive_expect expect wait arrive_on_copies fence_init".split()
)  # the names of tc_transaction_*


def mma(instruction: str, d: Any, a: Any, b: Any, span: Any = None) -> Stmt:
    """``d += a * b`` by the warp: the header's ``tc_mma_<instruction>`` (include/tilecore_cuda/matrix.h). instruction:
    shape, type of the operands (of each, if they differ) and of d, such as "m16n8k16_f16_f32", "m16n8k32_s8_s32",
    "m16n8k32_s8_u8_s32" or "m16n8k8_tf32_f32". d, a, b: the first register of each fragment."""
    return _statement(MMA, [StringImm(instruction), d, a, b], span)


def ldmatrix(to: Any, row: Any, count: int, trans: bool = False, span: Any = None) -> Stmt:
    """Loads ``count`` tiles; lane i names the row ``i % 8`` of tile ``i // 8``."""
    return _statement(LDMATRIX, [const(count, "int32"), const(int(trans), "int32"), to, row], span)


def stmatrix(row: Any, source: Any, count: int, trans: bool = False, span: Any = None) -> Stmt:
    return _statement(STMATRIX, [const(count, "int32"), const(int(trans), "int32"), row, source], span)


def transaction(name: str, *operands: Any, span: Any = None) -> Stmt:
    """``tc_transaction_<name>(barrier, ...)``; the first operand is an element of 8 bytes of shared memory."""
    if name not in TRANSACTIONS:
        raise ValueError(f"no operation {name!r} of transaction barriers; there are {', '.join(TRANSACTIONS)}")
    return _statement(TRANSACTION, [StringImm(name), *operands], span)


def bulk_copy(to: Any, source: Any, size: Any, barrier: Any, span: Any = None) -> Stmt:
    """Global to shared memory; ``size`` bytes, a multiple of 16, count on ``barrier`` when they have landed."""
    return _statement(BULK_COPY, [to, source, size, barrier], span)


def atomic_add_vector(to: Any, values: Any, count: int, span: Any = None) -> Stmt:
    return _statement(ATOMIC_ADD_VECTOR, [to, values, const(count, "int32")], span)


def prefetch_l2(element: Any, span: Any = None) -> Stmt:
    return _statement(PREFETCH, [element], span)


def _statement(name: str, args: list[Any], span: Any) -> Stmt:
    return Evaluate(Call(name, args, ret_ty="void"), span=span)
