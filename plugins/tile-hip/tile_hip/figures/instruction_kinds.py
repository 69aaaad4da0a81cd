"""Sorts instructions by the unit that executes them and by the width of their accesses, and counts them.

The names: AMD's ISA documents "MI200", "MI300", "CDNA 4", "RDNA 3" and "RDNA 4". LDS reads are ``ds_read_*`` on CDNA
and ``ds_load_*`` on RDNA, loads of 16 bytes ``global_load_dwordx4`` and ``global_load_b128``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tile_hip.figures.assembly import Instruction

_MATRIX = ("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_")
_TRANSCENDENTAL = re.compile(r"v_(s_)?(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)_(f16|f32|f64|bf16)")
_LANES = ("ds_bpermute", "ds_permute", "ds_swizzle")
_GLOBAL = ("global_", "buffer_", "tbuffer_")
_BARRIERS = ("s_barrier", "s_barrier_wait")
_BRANCHES = ("s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call")
_WITHOUT_UNIT = (
    "s_nop", "s_delay_alu", "s_clause", "s_setprio", "s_sleep", "s_inst_prefetch", "s_set_inst_prefetch", "s_endpgm",
    "s_barrier_signal", "s_code_end", "s_sendmsg", "s_icache", "s_waitcnt_depctr", "s_wait_alu", "s_wait_idle",
)  # fmt: skip
_WIDTHS = (
    ("dwordx4", 16), ("dwordx3", 12), ("dwordx2", 8), ("dword", 4), ("b128", 16), ("b96", 12), ("b64", 8), ("b32", 4),
    ("ubyte", 1), ("sbyte", 1), ("byte", 1), ("u8", 1), ("i8", 1), ("b8", 1), ("short", 2), ("ushort", 2),
    ("sshort", 2), ("u16", 2), ("i16", 2),
    ("b16", 2), ("f64", 8), ("u64", 8), ("i64", 8), ("f32", 4), ("u32", 4), ("i32", 4), ("f16", 4), ("bf16", 4),
)  # fmt: skip
SCRATCH_RESOURCE = "s[0:3]"  # of gfx90a's accesses of scratch, which are buffer loads and stores

# the kinds of an instruction
MATRIX, TRANSCENDENTAL, VALU, SALU, SCALAR_LOAD = "matrix", "transcendental", "valu", "salu", "scalar_load"
LDS_READ, LDS_WRITE, LDS_ATOMIC, LANE_EXCHANGE = "lds_read", "lds_write", "lds_atomic", "lane_exchange"
LOAD, STORE, ATOMIC, LDS_DIRECT = "global_load", "global_store", "global_atomic", "lds_direct_load"
WAIT, BARRIER, BRANCH, SCRATCH, FLAT, OTHER = "wait", "barrier", "branch", "scratch", "flat", "other"
KINDS = (
    MATRIX, VALU, TRANSCENDENTAL, SALU, SCALAR_LOAD, LDS_READ, LDS_WRITE, LDS_ATOMIC, LANE_EXCHANGE, LOAD, STORE,
    ATOMIC, LDS_DIRECT, WAIT, BARRIER, BRANCH, SCRATCH, FLAT, OTHER,
)  # fmt: skip


def is_matrix(name: str) -> bool:
    """Is it a matrix instruction, dense or sparse?"""
    return name.startswith(_MATRIX)


def kind_of(instruction: Instruction, scratch_in_buffers: bool = False) -> str:
    """The kind of an instruction, one of ``KINDS``.

    scratch_in_buffers: buffer accesses through s[0:3] are those of scratch (gfx90a, in kernels that have scratch).
    """
    name = instruction.name
    if name.startswith("v_"):
        return _vector_kind(name)
    if name.startswith("ds_"):
        return _lds_kind(name)
    if name.startswith("scratch_"):
        return SCRATCH
    if name.startswith("flat_"):
        return FLAT
    if name.startswith(_GLOBAL):
        return _memory_kind(instruction, scratch_in_buffers)
    return _scalar_kind(name)


def _vector_kind(name: str) -> str:
    if is_matrix(name):
        return MATRIX
    return TRANSCENDENTAL if _TRANSCENDENTAL.match(name) else VALU


def _lds_kind(name: str) -> str:
    if name.startswith(_LANES):
        return LANE_EXCHANGE
    if name.startswith(("ds_read", "ds_load")):
        return LDS_READ
    if name.startswith(("ds_write", "ds_store")):
        return LDS_WRITE
    return OTHER if name.startswith(("ds_nop", "ds_gws")) else LDS_ATOMIC


def _memory_kind(instruction: Instruction, scratch_in_buffers: bool) -> str:
    name = instruction.name
    if scratch_in_buffers and name.startswith("buffer_") and SCRATCH_RESOURCE in instruction.operands:
        return SCRATCH
    if "_lds" in name or instruction.operands.endswith(" lds"):
        return LDS_DIRECT
    if "_atomic" in name:
        return ATOMIC
    if "_load" in name:
        return LOAD
    return STORE if "_store" in name else OTHER  # buffer_wbl2, buffer_inv, global_wb, ...


def _scalar_kind(name: str) -> str:
    if name.startswith(_WITHOUT_UNIT):
        return OTHER
    if name.startswith("s_wait"):
        return WAIT
    if name in _BARRIERS:
        return BARRIER
    if name.startswith(_BRANCHES):
        return BRANCH
    if name.startswith(("s_load", "s_buffer_load", "s_store", "s_dcache", "s_memtime", "s_memrealtime")):
        return SCALAR_LOAD
    return SALU if name.startswith("s_") else OTHER


def width_of(name: str) -> int:
    """The bytes of a lane that an access of memory or LDS moves; 0 where its name does not say."""
    if "_tr" in name:  # ds_read_b64_tr_b16: 8 bytes
        name = name.partition("_tr")[0]
    parts = name.split("_")
    pair = "2addr" in parts or any(part.startswith(("read2", "write2")) for part in parts)
    for text, size in _WIDTHS:
        if text in parts:
            return size * (2 if pair else 1)
    return 0


@dataclass
class InstructionMix:
    """How often each kind occurs. widths: of the kinds that move memory, by bytes of a lane. matrix: by the name.

    waits: by their counters. stalls: the wait states of s_nop. instructions: all of them, in order.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    widths: dict[str, Counter[int]] = field(default_factory=dict)
    matrix: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)
    stalls: int = 0
    names: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return self.kinds.total()

    def bytes_of(self, kind: str) -> int:
        """The bytes of a lane that all instructions of a kind move together."""
        return sum(width * count for width, count in self.widths.get(kind, {}).items())

    def as_data(self) -> dict[str, object]:
        """As plain data: the counts that are not 0, widths as ``{"lds_read": {"16": 16}}``."""
        return {
            "instructions": self.count,
            **{kind: self.kinds[kind] for kind in KINDS if self.kinds[kind]},
            **({"matrix_by_name": dict(sorted(self.matrix.items()))} if self.matrix else {}),
            "widths": {kind: {str(w): n for w, n in sorted(by.items())} for kind, by in sorted(self.widths.items())},
            **({"waits": dict(sorted(self.waits.items()))} if self.waits else {}),
        }


def mix_of(instructions: Iterable[Instruction], scratch_in_buffers: bool = False) -> InstructionMix:
    """Counts instructions by kind. scratch_in_buffers: see :func:`kind_of`."""
    mix = InstructionMix()
    for instruction in instructions:
        kind = kind_of(instruction, scratch_in_buffers)
        mix.kinds[kind] += 1
        mix.names[instruction.name] += 1
        if kind == MATRIX:
            mix.matrix[_matrix_name(instruction)] += 1
        elif kind == WAIT:
            for counter in _counters(instruction):
                mix.waits[counter] += 1
        elif instruction.name == "s_nop":
            mix.stalls += int(instruction.operands or "0", 0) + 1
        width = width_of(instruction.name) if kind in _WITH_WIDTHS else 0
        if width:
            mix.widths.setdefault(kind, Counter())[width] += 1
    return mix


def _matrix_name(instruction: Instruction) -> str:
    """The name; with f6f4 instead of f8f6f4 if the modifiers say that both operands have 4 or 6 bits (gfx950)."""
    formats = re.findall(r"(?:cbsz|blgp):([234])\b", instruction.operands)
    return instruction.name.replace("f8f6f4", "f6f4") if len(formats) == 2 else instruction.name


_WITH_WIDTHS = frozenset(
    {LDS_READ, LDS_WRITE, LDS_ATOMIC, LANE_EXCHANGE, LOAD, STORE, ATOMIC, LDS_DIRECT, SCRATCH, FLAT}
)


def _counters(instruction: Instruction) -> list[str]:
    """The counters that a wait names, with their values: "vmcnt(0)", "lgkmcnt(1)", "loadcnt(0)"."""
    named = re.findall(r"\w+cnt\(\d+\)", instruction.operands)
    if named:
        return named
    counter = instruction.name.removeprefix("s_waitcnt_").removeprefix("s_wait_")  # s_waitcnt_vscnt null, 0x0
    number = re.search(r"(0x[0-9a-f]+|\d+)\s*$", instruction.operands)
    return [f"{counter}({int(number[1], 0)})" if number else counter]
