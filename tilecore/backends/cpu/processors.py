"""Processors by LLVM's names, and which of the extensions that change the emitted code each has.

Source: LLVM's X86TargetParser (X86.def and X86TargetParser.cpp), and the levels of the x86-64 psABI. Of
aarch64: AArch64Processors.td.
"""

from __future__ import annotations

from tilecore.errors import TargetError

_V3 = ("avx2", "f16c", "fma")
_V4 = (*_V3, "avx512bw", "avx512dq", "avx512f", "avx512vl")
_VNNI = (*_V4, "avx512vnni")
_BF16 = (*_VNNI, "avx512bf16")
_AMX = (*_BF16, "amx-bf16", "amx-int8", "amx-tile")

# of aarch64, whose vectors of 128 bits need no extension
AARCH64_PROCESSORS = frozenset(
    """
    armv8-a cortex-a72 cortex-a76 neoverse-n1 neoverse-n2 neoverse-v1 neoverse-v2
    """.split()
)

PROCESSORS: dict[str, tuple[str, ...]] = {
    "generic": (),
    "x86-64": (),
    "x86-64-v2": (),
    **dict.fromkeys(("x86-64-v3", "haswell", "core-avx2", "broadwell", "skylake", "alderlake"), _V3),
    **dict.fromkeys(("znver1", "znver2", "znver3"), _V3),
    **dict.fromkeys(("x86-64-v4", "skylake-avx512", "skx"), _V4),
    **dict.fromkeys(("cascadelake", "icelake-client", "icelake-server", "tigerlake", "rocketlake"), _VNNI),
    **dict.fromkeys(("cooperlake", "znver4", "znver5"), _BF16),
    **dict.fromkeys(("sapphirerapids", "emeraldrapids", "graniterapids"), _AMX),
    **dict.fromkeys(sorted(AARCH64_PROCESSORS), ()),
}

# VDPBF16PS takes two cycles, one for as many products as two multiply-adds of float32 (docs/notes/cpu.md)
SLOW_BFLOAT16_DOTS = frozenset({"cooperlake", "sapphirerapids", "emeraldrapids", "graniterapids"})
SLOW_BFLOAT16_VENDORS = frozenset({"GenuineIntel"})  # by CPUID

# register tiles of gemm of 6 rows by 4 vectors rather than 14 by 2: 10 loads for 24 multiply-adds instead of 16 for 28,
# which a core shared with another thread has room for. They read B twice as often, so the second-level cache must give
# more than 32 bytes a cycle (docs/notes/cpu.md)
WIDE_TILES = frozenset({"sapphirerapids", "emeraldrapids", "graniterapids"})
WIDE_TILES_VENDORS = frozenset({"GenuineIntel"})


def features_of(name: str) -> tuple[str, ...]:
    """The extensions of a processor. Raises TargetError for one that is not known."""
    if name not in PROCESSORS:
        raise TargetError(
            f"the processor {name!r} is not known",
            found=f"-march={name}",
            expected=", ".join(["native", *PROCESSORS]),
            hint='name the extensions instead: -march=generic -features="avx2,fma,f16c"',
        )
    return PROCESSORS[name]
