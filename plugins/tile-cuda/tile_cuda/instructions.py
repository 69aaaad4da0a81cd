"""The target's own calls in thread IR, ``cuda.*``: matrix instructions, their loads and stores, transaction barriers.

Operands that name registers or memory are elements (BufferLoad): the first register of a thread's fragment, the first
byte of a row. Every function here returns a statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.ir.build import const, constant, op_name
from tilecore.ir.dialect_calls import dialect_of
from tilecore.ir.nodes import Call, Evaluate, Expr, Stmt, StringImm
from tilecore.ir.register_call import register_call

# (instruction, d, a, b): the header's tc_mma_<instruction>, such as m16n8k16_f16_f32
MMA = register_call("cuda.mma")
# (count, trans, to, row): 1, 2 or 4 tiles of 8 x 8 elements of 16 bits
LDMATRIX = register_call("cuda.ldmatrix")
STMATRIX = register_call("cuda.stmatrix")  # (count, trans, row, from)
# (barrier, count) and the like: the header's tc_transaction_<name>
MBARRIER = register_call("cuda.mbarrier")
# (to, from, bytes, barrier)
BULK_COPY = register_call("cuda.bulk_copy")
# (to, values, count): neighbouring elements of global memory, added at once
ATOMIC_ADD_VECTOR = register_call("cuda.atomic_add_vector")
PREFETCH = register_call("cuda.prefetch_l2")  # (element)
# (instruction, a_by_m, b_by_n, sums, a, b, add); a, b: descriptions of operands
WGMMA = register_call("cuda.wgmma")
# (instruction, b_by_n, sums, a, b, add): A in registers
WGMMA_RS = register_call("cuda.wgmma_rs")
# (name, ...): the header's tc_warpgroup_<name>
# (element, leading, stride, swizzle), (description, pieces): values, descriptions of operands
DESCRIPTOR = register_call("cuda.matrix_descriptor", pure=True)
DESCRIPTOR_AT = register_call("cuda.descriptor_at", pure=True)
UNIFORM = register_call("cuda.uniform", pure=True)  # (value): the same in all lanes, and the compiler shall know
BIT_PAIR = register_call("cuda.bit_pair", pure=True)  # (x, shift, mask, bits), (pair, number): lowering/pair_bits.py
NEGATIVE = register_call("cuda.negative", pure=True)  # (x): -x of int32, lowering/keep_signs.py
QUOTIENTS = register_call("cuda.quotients")  # (first element, divisor, count): lowering/batch_divisions.py
HALF_OF_PAIR = register_call("cuda.half_of_pair", pure=True)
WARPGROUP = register_call("cuda.warpgroup")
# (count, sums): the products into these registers are done
REGISTER_FENCE = register_call("cuda.register_fence")
SCHEDULING_FENCE = register_call("cuda.scheduling_fence")  # (element): see tc_scheduling_fence of the header
# (map, to, barrier, mask of blocks of the cluster, coordinates, the innermost axis first); mask 0: this block
TMA_LOAD = register_call("cuda.tma_load")
# (map, from, coordinates)
TMA_STORE = register_call("cuda.tma_store")
# (name, groups, elements): the header's tc_<name> of stores
TMA_STORE_GROUP = register_call("cuda.tma_store_group")
PROXY_FENCE = register_call("cuda.proxy_fence")  # what this thread wrote is seen by copies and products
# (barrier, converge, elements): the warp is done with a slot of a ring, of which these are the first elements
RELEASE = register_call("cuda.release")
GRID_DEPENDENCY = register_call("cuda.grid_dependency")  # (name): the header's tc_grid_<name>
CLUSTER = register_call("cuda.cluster")  # (name): the header's tc_cluster_<name>
CLUSTER_RANK = register_call("cuda.cluster_rank", pure=True)  # (): int32
SETMAXNREG = register_call("cuda.setmaxnreg")  # (name, count): the header's tc_registers_<name>

EXPLICIT = "explicit"  # attribute of calls that the kernel itself waits for
MBARRIER_OPERATIONS = (
    "init drop arrive arrive_remote arrive_expect expect wait arrive_on_copies fence_init".split()
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


def mbarrier(name: str, *operands: Any, span: Any = None) -> Stmt:
    """``tc_transaction_<name>(barrier, ...)``; the first operand is an element of 8 bytes of shared memory."""
    if name not in MBARRIER_OPERATIONS:
        raise ValueError(f"no operation {name!r} of transaction barriers; there are {', '.join(MBARRIER_OPERATIONS)}")
    return _statement(MBARRIER, [StringImm(name), *operands], span)


def bulk_copy(to: Any, source: Any, size: Any, barrier: Any, span: Any = None) -> Stmt:
    """Global to shared memory; ``size`` bytes, a multiple of 16, count on ``barrier`` when they have landed."""
    return _statement(BULK_COPY, [to, source, size, barrier], span)


def atomic_add_vector(to: Any, values: Any, count: int, span: Any = None) -> Stmt:
    return _statement(ATOMIC_ADD_VECTOR, [to, values, const(count, "int32")], span)


def quotients(values: Any, divisor: Any, count: int, span: Any = None) -> Stmt:
    """``count`` float32 from ``values`` on, in registers, each divided by ``divisor`` and rounded."""
    return _statement(QUOTIENTS, [values, divisor, const(count, "int32")], span)


def prefetch_l2(element: Any, span: Any = None) -> Stmt:
    return _statement(PREFETCH, [element], span)


def wgmma(name: str, a_by_m: bool, b_by_n: bool, *operands: Any, span: Any = None) -> Stmt:
    """``sums (+)= a * b`` by the warpgroup, later: the header's ``tc_wgmma_<name>``. operands: the first of the sums,
    the descriptions of A and B, whether to add."""
    flags = [const(int(flag), "int32") for flag in (a_by_m, b_by_n)]
    return _statement(WGMMA, [StringImm(name), *flags, *operands], span)


def matrix_descriptor(element: Any, leading: int, stride: int, swizzle: int) -> Expr:
    """The description of a tile in shared memory from ``element`` on (uint64). leading, stride: in bytes."""
    numbers = [const(number, "int32") for number in (leading, stride, swizzle)]
    return Call(DESCRIPTOR, [element, *numbers], ret_ty="uint64")


def uniform(value: Any) -> Expr:
    """``value`` (int32), which is the same in all lanes of a warp."""
    return Call(UNIFORM, [value], ret_ty="int32")


def bit_pair(x: Any, shift: int, mask: int, bits: int) -> Expr:
    """Two numbers of 16 bits (uint32): ``x & mask | bits`` in the low half and ``(x >> shift) & mask | bits`` in the
    high one. x: uint32, below 2^(16 - shift), and so is mask."""
    return Call(BIT_PAIR, [x, *(const(number, "int32") for number in (shift, mask, bits))], ret_ty="uint32")


def negative(x: Any) -> Expr:
    """-x of int32, wrapping, which the compiler does not take into an instruction of three operands."""
    return Call(NEGATIVE, [x], ret_ty="int32")


def half_of_pair(pair: Any, number: Any) -> Expr:
    """The low half of a pair (0), or the high one (1); uint16."""
    return Call(HALF_OF_PAIR, [pair, number], ret_ty="uint16")


def descriptor_at(tile: Any, pieces: int) -> Expr:
    """The description of what lies ``pieces`` times 16 bytes behind."""
    return tile if pieces == 0 else Call(DESCRIPTOR_AT, [tile, const(pieces, "int32")], ret_ty="uint64")


def wgmma_rs(name: str, b_by_n: bool, *operands: Any, span: Any = None) -> Stmt:
    """As :func:`wgmma`; of A the first register."""
    return _statement(WGMMA_RS, [StringImm(name), const(int(b_by_n), "int32"), *operands], span)


def warpgroup(name: str, *operands: Any, span: Any = None) -> Stmt:
    """``tc_warpgroup_<name>``: "begin" before a group of products, "commit" after it, "wait" with the number of groups
    that may still be on their way."""
    return _statement(WARPGROUP, [StringImm(name), *operands], span)


def groups_left(node: Stmt) -> int | None:
    """How many groups of products a wait for them leaves on their way; None for any other statement."""
    if not isinstance(node, Evaluate) or op_name(node.value) != WARPGROUP or str(node.value.args[0].value) != "wait":
        return None
    return int(constant(node.value.args[1]) or 0)


def register_fence(sums: Any, count: int, span: Any = None) -> Stmt:
    return _statement(REGISTER_FENCE, [const(count, "int32"), sums], span)


def scheduling_fence(element: Any, span: Any = None) -> Stmt:
    """Behind what writes ``element``, a float32: the assembler moves no instruction over it."""
    return _statement(SCHEDULING_FENCE, [element], span)


def tma_load(
    tensor_map: str, to: Any, barrier: Any, coordinates: Sequence[Any], span: Any = None, mask: int = 0
) -> Stmt:
    """A box from global to shared memory; its bytes count on ``barrier``. mask: the same for the blocks of the cluster
    that have a bit in it, each at its own place."""
    return _statement(TMA_LOAD, [StringImm(tensor_map), to, barrier, const(mask, "int32"), *coordinates], span)


def tma_store(
    tensor_map: str, source: Any, coordinates: Sequence[Any], span: Any = None, explicit: bool = False
) -> Stmt:
    """A box from shared to global memory. explicit: the kernel itself waits for it."""
    attrs = {EXPLICIT: 1} if explicit else None
    return Evaluate(Call(TMA_STORE, [StringImm(tensor_map), source, *coordinates], attrs=attrs, ret_ty="void"), span)


def is_explicit(call: Call) -> bool:
    """Does the kernel itself wait for it?"""
    return call.attrs is not None and EXPLICIT in call.attrs


def is_explicit_arrival(call: Call) -> bool:
    """Does the kernel itself arrive at a barrier in memory here?"""
    if dialect_of(call) is None or op_name(call) != MBARRIER:
        return False
    return str(call.args[0].value).startswith("arrive")


def cluster(name: str, span: Any = None) -> Stmt:
    """``tc_cluster_<name>``: "arrive", "wait", "barrier" for both."""
    return _statement(CLUSTER, [StringImm(name)], span)


def cluster_rank() -> Expr:
    return Call(CLUSTER_RANK, [], ret_ty="int32")


def tma_store_group(name: str, groups: int | None = None, memory: Sequence[Any] = (), span: Any = None) -> Stmt:
    """Of this thread's tensor stores: "commit_stores", or "wait_stores", "wait_stores_read" of all groups but the last
    ``groups``. memory: elements of what they read, which lives until then."""
    return _statement(TMA_STORE_GROUP, [StringImm(name), *([] if groups is None else [const(groups, "int32")]), *memory], span)


def proxy_fence(span: Any = None) -> Stmt:
    return _statement(PROXY_FENCE, [], span)


def release(barrier: Any, elements: Sequence[Any], converge: bool, blocks: int = 1, span: Any = None) -> Stmt:
    """The warp has read a slot of a ring. elements: the first of each of its tiles. converge: its threads read it
    themselves, so that they must meet first. blocks: of the cluster, at whose barriers it arrives."""
    operands = [barrier, const(int(converge), "int32"), *elements]
    return Evaluate(Call(RELEASE, operands, attrs={"blocks": blocks}, ret_ty="void"), span=span)


def blocks_released(call: Call) -> int:
    """At how many blocks' barriers a release arrives."""
    return int(call.attrs["blocks"])


def setmaxnreg(name: str, count: int, span: Any = None) -> Stmt:
    """ "release" or "acquire": the threads of this warpgroup have ``count`` registers from here on."""
    return _statement(SETMAXNREG, [StringImm(name), const(count, "int32")], span)


def grid_dependency(name: str, span: Any = None) -> Stmt:
    """ "wait" until the kernel in front of this one has ended; "release": the kernel behind may be started."""
    return _statement(GRID_DEPENDENCY, [StringImm(name)], span)


def _statement(name: str, args: list[Any], span: Any) -> Stmt:
    return Evaluate(Call(name, args, ret_ty="void"), span=span)
