"""The calls ``cuda.*`` of thread IR, which only this target has: MMA instructions, mbarriers, TMA copies and others.

An operand that names registers or memory is an element (BufferLoad): the first register of a thread's fragment, or the
first byte of a row. The comment of each call lists its operands. Most functions return a statement; those whose result
is ``Expr`` return a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_cuda.attributes import CudaCallAttr
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import const, constant, op_name
from tilecore.ir.dialect_calls import dialect_of
from tilecore.ir.nodes import Call, Evaluate, Expr, Stmt, StringImm
from tilecore.ir.register_call import register_call

# -- warp-level matrix instructions
MMA = register_call("cuda.mma")  # (instruction, d, a, b): tc_mma_<instruction> of the header, such as m16n8k16_f16_f32
# (count, trans, to, row): loads 1, 2 or 4 matrices of 8 x 8 elements of 16 bits
LDMATRIX = register_call("cuda.ldmatrix")
STMATRIX = register_call("cuda.stmatrix")  # (count, trans, row, from)

# -- warpgroup-level matrix instructions
# (instruction, a_by_m, b_by_n, accumulator, a, b, add): A and B in shared memory; a, b: matrix descriptors
WGMMA = register_call("cuda.wgmma")
# (instruction, b_by_n, accumulator, a, b, add): A in registers, B in shared memory (CUTLASS: "RS")
WGMMA_RS = register_call("cuda.wgmma_rs")
WARPGROUP = register_call("cuda.warpgroup")  # (name, ...): tc_warpgroup_<name> of the header
DESCRIPTOR = register_call("cuda.matrix_descriptor", pure=True)  # (element, leading, stride, swizzle): uint64
DESCRIPTOR_AT = register_call("cuda.descriptor_at", pure=True)  # (descriptor, pieces): uint64
# (count, registers): the compiler moves no access to these registers across it
REGISTER_FENCE = register_call("cuda.register_fence")
# (count, registers): reads them, so that they stay live until here
KEEP_REGISTERS = register_call("cuda.keep_registers")
SETMAXNREG = register_call("cuda.setmaxnreg")  # (name, count): tc_registers_<name> of the header

# -- mbarriers and asynchronous copies
MBARRIER = register_call("cuda.mbarrier")  # (name, barrier, ...): tc_transaction_<name> of the header
# (barrier, converge, elements): the warp releases a slot of a circular buffer; elements: the first of each of its tiles
RELEASE = register_call("cuda.release")
BULK_COPY = register_call("cuda.bulk_copy")  # (to, from, bytes, barrier)
# (map, to, barrier, mask of blocks of the cluster, coordinates, the innermost axis first); mask 0: this block
TMA_LOAD = register_call("cuda.tma_load")
EVICTION_POLICIES = ("evict_first", "evict_last")  # of T.copy that tc_<policy> of the header makes
TMA_STORE = register_call("cuda.tma_store")  # (map, from, coordinates)
TMA_STORE_GROUP = register_call("cuda.tma_store_group")  # (name, groups, elements): tc_<name> of the header
# (): writes of this thread to shared memory become visible to TMA copies and wgmma
PROXY_FENCE = register_call("cuda.proxy_fence")
# (bytes, threads, element, thread): the threads write zeros from this element of shared memory on
CLEAR_SHARED = register_call("cuda.clear_shared")

# -- barriers of some threads
NAMED_ARRIVE = register_call("cuda.named_barrier_arrive")  # (number, threads): arrives at simt.named_barrier

# -- grids and clusters
GRID_DEPENDENCY = register_call("cuda.grid_dependency")  # (name): tc_grid_<name> of the header
CLUSTER = register_call("cuda.cluster")  # (name): tc_cluster_<name> of the header
REMOTE_STORE = register_call("cuda.remote_store")  # (element, value, rank): to the block of this rank in the cluster
# (element, value, barrier, rank): starts a store to the block of this rank, whose barrier counts its bytes
REMOTE_STORE_ASYNC = register_call("cuda.remote_store_async")
# (count, registers, element, rank): adds elements of the block of this rank in the cluster to registers
ADD_REMOTE = register_call("cuda.add_remote")
CLUSTER_RANK = register_call("cuda.cluster_rank", pure=True)  # (): int32

# -- other memory accesses and arithmetic
ATOMIC_ADD_VECTOR = register_call("cuda.atomic_add_vector")  # (to, values, count): adds to contiguous global elements
PREFETCH = register_call("cuda.prefetch_l2")  # (element)
PREFETCH_BULK = register_call("cuda.prefetch_bulk_l2")  # (first element, bytes)
UNIFORM = register_call("cuda.uniform", pure=True)  # (value): the compiler may rely on it to be the same in all lanes
BIT_PAIR = register_call("cuda.bit_pair", pure=True)  # (x, shift, mask, bits): lowering/pair_bits.py
HALF_OF_PAIR = register_call("cuda.half_of_pair", pure=True)  # (pair, index): lowering/pair_bits.py
NEGATIVE = register_call("cuda.negative", pure=True)  # (x): -x of int32, lowering/keep_signs.py
FLOAT_PAIR = register_call("cuda.float_pair", pure=True)  # (low, high): uint64, lowering/pair_floats.py
ON_PAIRS = register_call("cuda.on_pairs", pure=True)  # (name, pair, ...): tc_pair_<name> of the header, uint64
FLOAT_OF_PAIR = register_call("cuda.float_of_pair", pure=True)  # (pair, 0 or 1): float32
QUOTIENTS = register_call("cuda.quotients")  # (first element, divisor, count): lowering/batch_divisions.py
SCHEDULING_FENCE = register_call("cuda.scheduling_fence")  # (element): tc_scheduling_fence of the header

MBARRIER_OPERATIONS = (
    "init drop arrive arrive_remote release_remote arrive_expect expect wait wait_cluster arrive_on_copies "
    "fence_init".split()
)  # the names of tc_transaction_*


def mma(instruction: str, d: Any, a: Any, b: Any, span: Any = None) -> Stmt:
    """The warp computes ``d += a * b`` by ``tc_mma_<instruction>`` (include/tilecore_cuda/matrix.h).

    instruction: the shape, the type of the operands (of each, if they differ) and of d, such as "m16n8k16_f16_f32",
    "m16n8k32_s8_s32", "m16n8k32_s8_u8_s32" or "m16n8k8_tf32_f32". d, a, b: the first register of each fragment.
    """
    return _statement(MMA, [StringImm(instruction), d, a, b], span)


def ldmatrix(to: Any, row: Any, count: int, trans: bool = False, span: Any = None) -> Stmt:
    """The warp loads ``count`` 8 x 8 matrices; lane i has the address of row ``i % 8`` of matrix ``i // 8``."""
    return _statement(LDMATRIX, [const(count, "int32"), const(int(trans), "int32"), to, row], span)


def stmatrix(row: Any, source: Any, count: int, trans: bool = False, span: Any = None) -> Stmt:
    """The warp stores ``count`` 8 x 8 matrices; the addresses are as for :func:`ldmatrix`."""
    return _statement(STMATRIX, [const(count, "int32"), const(int(trans), "int32"), row, source], span)


def mbarrier(name: str, *operands: Any, span: Any = None) -> Stmt:
    """``tc_transaction_<name>(barrier, ...)``; the barrier is an element of 8 bytes of shared memory."""
    if name not in MBARRIER_OPERATIONS:
        raise ValueError(f"mbarriers have no operation {name!r}; expected one of {', '.join(MBARRIER_OPERATIONS)}")
    return _statement(MBARRIER, [StringImm(name), *operands], span)


def bulk_copy(to: Any, source: Any, size: Any, barrier: Any, span: Any = None) -> Stmt:
    """Copies ``size`` bytes, a multiple of 16, from global to shared memory; ``barrier`` counts them as they land."""
    return _statement(BULK_COPY, [to, source, size, barrier], span)


def atomic_add_vector(to: Any, values: Any, count: int, span: Any = None) -> Stmt:
    """Adds ``count`` contiguous values to contiguous elements of global memory by one atomic instruction."""
    return _statement(ATOMIC_ADD_VECTOR, [to, values, const(count, "int32")], span)


def quotients(values: Any, divisor: Any, count: int, span: Any = None) -> Stmt:
    """Divides ``count`` float32 registers, from ``values`` on, by ``divisor``; each quotient is rounded correctly."""
    return _statement(QUOTIENTS, [values, divisor, const(count, "int32")], span)


def prefetch_l2(element: Any, span: Any = None) -> Stmt:
    """Loads the cache line of an element of global memory into L2."""
    return _statement(PREFETCH, [element], span)


def prefetch_bulk_l2(element: Any, size: int, span: Any = None) -> Stmt:
    """Loads ``size`` bytes of global memory from an element on into L2."""
    return _statement(PREFETCH_BULK, [element, const(size, "int32")], span)


def wgmma(name: str, a_by_m: bool, b_by_n: bool, *operands: Any, span: Any = None) -> Stmt:
    """The warpgroup starts ``accumulator (+)= a * b`` by ``tc_wgmma_<name>``; it runs asynchronously.

    operands: the first register of the accumulator, the matrix descriptors of A and B, and whether to add.
    """
    flags = [const(int(flag), "int32") for flag in (a_by_m, b_by_n)]
    return _statement(WGMMA, [StringImm(name), *flags, *operands], span)


def matrix_descriptor(element: Any, leading: int, stride: int, swizzle: int) -> Expr:
    """The matrix descriptor (uint64) of a tile in shared memory that begins at ``element``.

    leading, stride: the byte offsets that PTX ISA, "Matrix Descriptor Format", defines.
    """
    fields = [const(field, "int32") for field in (leading, stride, swizzle)]
    return Call(DESCRIPTOR, [element, *fields], ret_ty="uint64")


def uniform(value: Any) -> Expr:
    """``value`` (int32), which is the same in all lanes of a warp."""
    return Call(UNIFORM, [value], ret_ty="int32")


def bit_pair(x: Any, shift: int, mask: int, bits: int) -> Expr:
    """A word (uint32) with ``x & mask | bits`` in its low half and ``(x >> shift) & mask | bits`` in its high half.

    x: uint32, below 2^(16 - shift), as is mask.
    """
    return Call(BIT_PAIR, [x, *(const(value, "int32") for value in (shift, mask, bits))], ret_ty="uint32")


def negative(x: Any) -> Expr:
    """-x of int32, wrapping; the compiler does not fuse it into an instruction with three operands."""
    return Call(NEGATIVE, [x], ret_ty="int32")


def half_of_pair(pair: Any, index: Any) -> Expr:
    """The half (uint16) of a pair: index 0 is the low half, 1 the high half."""
    return Call(HALF_OF_PAIR, [pair, index], ret_ty="uint16")


def float_pair(low: Any, high: Any) -> Expr:
    """Two float32 as the halves of 64 bits."""
    return Call(FLOAT_PAIR, [low, high], ret_ty="uint64")


def on_pairs(operation: str, pairs: Sequence[Any]) -> Expr:
    """An operation of both halves of pairs: "add", "sub", "mul" or "fma", rounded to nearest even."""
    return Call(ON_PAIRS, [StringImm(operation), *pairs], ret_ty="uint64")


def float_of_pair(pair: Any, lane: int) -> Expr:
    """The low (0) or the high (1) float32 of a pair."""
    return Call(FLOAT_OF_PAIR, [pair, const(lane, "int32")], ret_ty="float32")


def descriptor_at(descriptor: Any, pieces: int) -> Expr:
    """The matrix descriptor of a tile that begins ``pieces`` times 16 bytes further on."""
    return descriptor if pieces == 0 else Call(DESCRIPTOR_AT, [descriptor, const(pieces, "int32")], ret_ty="uint64")


def wgmma_rs(name: str, b_by_n: bool, *operands: Any, span: Any = None) -> Stmt:
    """As :func:`wgmma`, with A in registers: the operand of A is its first register."""
    return _statement(WGMMA_RS, [StringImm(name), const(int(b_by_n), "int32"), *operands], span)


def warpgroup(name: str, *operands: Any, span: Any = None) -> Stmt:
    """``tc_warpgroup_<name>``: "begin" before a wgmma group, "commit" after it, "wait" with the number of groups that
    may still run."""
    return _statement(WARPGROUP, [StringImm(name), *operands], span)


def groups_left(node: Stmt) -> int | None:
    """The number of wgmma groups that may still run after a wait for wgmma; None for any other statement."""
    if not isinstance(node, Evaluate) or op_name(node.value) != WARPGROUP or str(node.value.args[0].value) != "wait":
        return None
    return int(constant(node.value.args[1]) or 0)


def register_fence(first: Any, count: int, span: Any = None) -> Stmt:
    """Keeps the compiler from moving accesses to ``count`` registers, from ``first`` on, across this statement."""
    return _statement(REGISTER_FENCE, [const(count, "int32"), first], span)


def keep_registers(first: Any, count: int, span: Any = None) -> Stmt:
    """Keeps ``count`` elements in registers, from ``first`` on, live until here (lowering/hopper/keep_operands.py)."""
    return _statement(KEEP_REGISTERS, [const(count, "int32"), first], span)


def scheduling_fence(element: Any, span: Any = None) -> Stmt:
    """A fence for ptxas after the write of ``element``, a float32: it moves no instruction across the fence."""
    return _statement(SCHEDULING_FENCE, [element], span)


def tma_load(
    tensor_map: str,
    to: Any,
    barrier: Any,
    coordinates: Sequence[Any],
    span: Any = None,
    mask: int = 0,
    eviction: Any = None,
) -> Stmt:
    """Starts a TMA load of a box from global to shared memory; ``barrier`` counts its bytes.

    mask: a bit for each block of the cluster that receives the box (multicast), at the same offset of its own memory.
    eviction: the eviction_policy of T.copy; only those of EVICTION_POLICIES make a difference.
    """
    attrs = {CallAttr.EVICTION_POLICY: str(eviction)} if eviction in EVICTION_POLICIES else None
    args = [StringImm(tensor_map), to, barrier, const(mask, "int32"), *coordinates]
    return Evaluate(Call(TMA_LOAD, args, attrs=attrs, ret_ty="void"), span)


def eviction_policy(call: Call) -> str:
    """The policy of a TMA load for the lines that it brings to L2; "" for none."""
    return str(call.attrs.get(CallAttr.EVICTION_POLICY, "")) if call.attrs is not None else ""


def tma_store(
    tensor_map: str,
    source: Any,
    coordinates: Sequence[Any],
    span: Any = None,
    explicit: bool = False,
    is_add: bool = False,
) -> Stmt:
    """Starts a TMA store of a box from shared to global memory.

    explicit: the kernel itself waits for it. is_add: its elements are added to those of the tensor.
    """
    attrs = {CudaCallAttr.EXPLICIT: 1} if explicit else {}
    attrs |= {CudaCallAttr.ADDS: 1} if is_add else {}
    call = Call(TMA_STORE, [StringImm(tensor_map), source, *coordinates], attrs=attrs or None, ret_ty="void")
    return Evaluate(call, span)


def is_explicit(call: Call) -> bool:
    """Whether the kernel itself waits for a call."""
    return call.attrs is not None and CudaCallAttr.EXPLICIT in call.attrs


def is_add(call: Call) -> bool:
    """Whether a TMA store adds to the elements of its tensor."""
    return call.attrs is not None and CudaCallAttr.ADDS in call.attrs


def is_explicit_arrival(call: Call) -> bool:
    """Whether a call is an arrival at an mbarrier that the kernel itself asks for."""
    if dialect_of(call) is None or op_name(call) != MBARRIER:
        return False
    return str(call.args[0].value).startswith("arrive")


def named_arrive(number: Any, threads: int, span: Any = None) -> Stmt:
    """Arrives at a named barrier where ``threads`` threads arrive or wait in all, and does not wait."""
    return _statement(NAMED_ARRIVE, [number, const(threads, "int32")], span)


def cluster(name: str, span: Any = None) -> Stmt:
    """``tc_cluster_<name>``: "arrive", "arrive_relaxed", "wait", or "barrier" for "arrive" and "wait"."""
    return _statement(CLUSTER, [StringImm(name)], span)


def cluster_rank() -> Expr:
    """The rank of the running block in its cluster (int32)."""
    return Call(CLUSTER_RANK, [], ret_ty="int32")


def remote_store(element: Any, value: Any, rank: Any, span: Any = None) -> Stmt:
    """Stores to the element at this place in the shared memory of the block of this rank in the cluster."""
    return _statement(REMOTE_STORE, [element, value, rank], span)


def add_remote(registers: Any, element: Any, rank: int, count: int, span: Any = None) -> Stmt:
    """Adds ``count`` contiguous elements of 4 bytes to registers: 1, or 4 that begin at a multiple of 16 bytes.

    registers: the first of them. element: the place of the first element in the shared memory of the block ``rank``.
    """
    return _statement(ADD_REMOTE, [const(count, "int32"), registers, element, const(rank, "int32")], span)


def tma_store_group(name: str, groups: int | None = None, memory: Sequence[Any] = (), span: Any = None) -> Stmt:
    """Commits, or waits for, the TMA stores of this thread.

    name: "commit_stores" makes a group of them; "wait_stores" waits until all groups but the last ``groups`` have
    ended, "wait_stores_read" until they have read shared memory. memory: elements of the buffers that they read, which
    stay live until then.
    """
    return _statement(
        TMA_STORE_GROUP, [StringImm(name), *([] if groups is None else [const(groups, "int32")]), *memory], span
    )


def proxy_fence(span: Any = None) -> Stmt:
    """Makes this thread's writes to shared memory visible to TMA copies and wgmma (PTX ISA, "fence.proxy.async")."""
    return _statement(PROXY_FENCE, [], span)


def clear_shared(element: Any, size: int, thread: Any, threads: int, span: Any = None) -> Stmt:
    """So many threads write ``size`` bytes of zeros, a multiple of 16, to shared memory from ``element`` on."""
    return _statement(CLEAR_SHARED, [const(size, "int32"), const(threads, "int32"), element, thread], span)


def release(barrier: Any, elements: Sequence[Any], converge: bool, blocks: int = 1, span: Any = None) -> Stmt:
    """The warp releases a slot of a circular buffer that it has read.

    elements: the first element of each tile in the slot. converge: the warp's threads read the slot themselves, so they
    converge before one of them arrives. blocks: the number of blocks of the cluster at whose mbarriers it arrives.
    """
    operands = [barrier, const(int(converge), "int32"), *elements]
    return Evaluate(Call(RELEASE, operands, attrs={CudaCallAttr.BLOCKS: blocks}, ret_ty="void"), span=span)


def blocks_released(call: Call) -> int:
    """The number of blocks at whose mbarriers a release arrives."""
    return int(call.attrs[CudaCallAttr.BLOCKS])


def setmaxnreg(name: str, count: int, span: Any = None) -> Stmt:
    """From here on each thread of this warpgroup has ``count`` registers. name: "release" or "acquire"."""
    return _statement(SETMAXNREG, [StringImm(name), const(count, "int32")], span)


def grid_dependency(name: str, span: Any = None) -> Stmt:
    """Programmatic dependent launch: "wait" until the kernel before has ended; "release" lets the next kernel start."""
    return _statement(GRID_DEPENDENCY, [StringImm(name)], span)


def _statement(name: str, args: list[Any], span: Any) -> Stmt:
    return Evaluate(Call(name, args, ret_ty="void"), span=span)
