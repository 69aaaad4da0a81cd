"""What a core of an Apple GPU can do in a cycle, for the model of time (``model.py``), with the source of each number.

A core has 4 schedulers; each starts one instruction of a simdgroup (32 lanes) in a cycle, on 32 of the core's 128
ALUs. The cycles below are of one scheduler: how long an instruction of one simdgroup keeps its ALUs busy.

Measured by others on M1 and A14 (philipturner/metal-benchmarks, README.md, "Instruction throughputs", "ALU layout",
"On-chip memory"); the families 7 and 8 are one column there:

- additions, products and fused ones of float32 and half, additions, comparisons, selections and bit operations of
  integers: 1. They share the ALUs.
- products and shifts of integers, conversions between integers and floats, exp2, log2: 4, on the ALUs' slower part,
  which runs beside the others; 1/x: 6, 1/sqrt(x): 8; precise division 30.65, precise square root 15.03, sine 14.28,
  precise sine 24.39; exp and log are exp2 and log2 and a product.
- additions of 64 bits: 4, by four instructions; products of 32 x 32 = 64 bits: 8, of 64 bits: 16.
- a conversion between half and float: 1, as operands and results of 16 bits cost nothing more.
- ``simd_shuffle_xor`` and votes: 2; ``simd_shuffle`` by a computed lane: 28.25 ("SHUFFLE_RANDOM"); a sum of the lanes
  before: 11.75.
- a product of matrices of 8 x 8: 17 of half, 18 of float. (It is 512 multiplications and additions, 16 cycles at the
  peak. In whole kernels he measured 101.7 to 102.5 of 128 a cycle and core: "Matrix FFMA".) Products of half with
  sums in float, which is what kernels do, are taken to need 18; of bfloat, too.
- bytes of threadgroup memory in a cycle: **not published** ("Shared BW/Cycle: TBD"). Taken to be the 64 of "On-core
  data", which the first-level cache has.
- bytes of device memory in a cycle and core: 32 of the second-level cache ("On-GPU data").
- registers: about 208 KB a core; threadgroup memory: about 60 KB a core; 3072 threads at most.

Family 9 (M3, M4): Apple says that ALUs for float32, half and integers work at once on instructions of several
simdgroups, and that registers and threadgroup memory are in one cache (Apple, tech talk 111375, "Explore GPU
advancements in M3 and A17 Pro"). The rates are **not published**: those of family 7 are taken, with integers, and the
slower part, beside the floats. Which ALUs compute products of matrices is not published: taken to be those of
float32. bfloat is native (philipturner/metal-flash-attention); before, a rounding to bfloat takes several integer
operations: taken to be 8.

Family 10 (M5): no rate of the instructions that emitted kernels use is published, so there is no model.

Clocks and cores: metal-benchmarks, "Overview"; of the M4: its peak of 4.6 TFLOP/s / (10 cores x 256). Bandwidth of
memory: Apple's product pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEDULERS = 4
LANES = 32
REGISTER_BYTES = 208 << 10  # of a core
MOST_THREADS = 3072  # of a core
ENOUGH_SIMDGROUPS = 24  # of a core: with so many its ALUs are busy (metal-benchmarks, "ALU bottlenecks")


@dataclass(frozen=True)
class Chip:
    """A product. cores, gigahertz, bandwidth (GB/s of memory). flops: the peak of float32, in TFLOP/s."""

    name: str
    cores: int
    gigahertz: float
    bandwidth: int

    @property
    def memory(self) -> float:
        """Bytes of memory in a cycle for each core."""
        return self.bandwidth / (self.gigahertz * self.cores)

    @property
    def flops(self) -> float:
        """TFLOP/s of float32: two operations by each of 128 ALUs in a cycle."""
        return self.cores * 2 * SCHEDULERS * LANES * self.gigahertz / 1000


_SLOW = {
    "mul.wide": 8, "mul.hi": 8, "mul.lo.s64": 16, "mul.lo.u64": 16, "mad.wide": 8, "mad.lo.s64": 16,
    "div.rn.f32": 30.65, "rcp.rn.f32": 10.46, "sqrt.rn.f32": 15.03,
    "metal_precise_exp": 4, "metal_precise_log": 4, "metal_fast_exp": 4, "metal_fast_log": 4,
    "metal_precise_sqrt": 15.03, "metal_fast_sqrt": 8, "metal_precise_rsqrt": 8, "metal_fast_rsqrt": 8,
    "metal_precise_sin": 24.39, "metal_precise_cos": 24.39, "metal_fast_sin": 14.28, "metal_fast_cos": 14.28,
}  # fmt: skip
_LIKE = {"exp2": "exp", "exp10": "exp", "log2": "log", "log10": "log"}
_PLAIN = ("mul.lo", "mad.lo", "shl", "shr", "shf", "popc", "clz", "brev", "bfe", "bfi", "prmt")


@dataclass(frozen=True)
class Rates:
    """The rates of a family. matrix: cycles of a product, by the type of its factors. apart: do integers, and the
    slower part, run beside the floats? to_bfloat: the cycles of a rounding to bfloat. threadgroup, cache: bytes in a
    cycle and core. threadgroup_bytes: of a core; 0: not published. chip: the product whose memory the model takes."""

    apart: bool
    to_bfloat: int
    threadgroup_bytes: int
    chip: Chip
    matrix: Mapping[str, float] = field(default_factory=lambda: {"half": 18, "float": 18, "bfloat": 18})
    threadgroup: int = 64
    cache: int = 32


_RATES = {
    "apple7": Rates(False, 8, 60 << 10, Chip("M1", 8, 1.278, 68)),
    "apple8": Rates(False, 8, 60 << 10, Chip("M2", 10, 1.398, 100)),
    "apple9": Rates(True, 1, 0, Chip("M4", 10, 1.797, 120)),
}


def rates_of(family: str) -> Rates | None:
    """The rates of a family, or None where none is published."""
    return _RATES.get(family)


def complex_cycles(name: str) -> float | None:
    """The cycles of an instruction of the slower part, or of a function; None where no rate is published."""
    if name.startswith("metal_"):
        words = name.split("_")
        name = "_".join([*words[:-1], _LIKE.get(words[-1], words[-1])])
        return _SLOW.get(name)
    slow = next((cycles for prefix, cycles in _SLOW.items() if name.startswith(prefix)), None)
    return slow if slow is not None else (4 if name.startswith(_PLAIN) else None)
