"""Extensions of the instruction set: which of a processor's kernels may use, and which LLVM must not.

LLVM knows a processor by its name, and takes it to have all that its kind has. A virtual machine may have less: the
hypervisor hides extensions, and their instructions end the process. So kernels use the extensions that their target
names and no others, whatever LLVM believes of the processor.

Sources: the Linux kernel's arch/x86/include/asm/cpufeatures.h and Documentation/arch/arm64/elf_hwcaps.rst for the names
of /proc/cpuinfo; LLVM's X86.td and AArch64Features.td for LLVM's names.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable

# extensions that change the code, as /proc/cpuinfo and LLVM spell them, and the vector bits that they bring
EXTENSIONS = {
    "avx512f": ("avx512f", 512),
    "avx512bw": ("avx512bw", 0),
    "avx512vl": ("avx512vl", 0),
    "avx512dq": ("avx512dq", 0),
    "avx512vbmi": ("avx512vbmi", 0),
    "avx512_vbmi2": ("avx512vbmi2", 0),
    "avx512_bitalg": ("avx512bitalg", 0),
    "avx512_vpopcntdq": ("avx512vpopcntdq", 0),
    "avx512_bf16": ("avx512bf16", 0),
    "avx512_vnni": ("avx512vnni", 0),
    "gfni": ("gfni", 0),
    "avx2": ("avx2", 256),
    "fma": ("fma", 0),
    "f16c": ("f16c", 0),
    "amx_tile": ("amx-tile", 0),
    "amx_bf16": ("amx-bf16", 0),
    "amx_int8": ("amx-int8", 0),
}
TILE_FEATURES = frozenset({"amx-tile", "amx-bf16", "amx-int8"})

# Extensions that come with another one in every processor, so that targets do not name them, by LLVM's names. A
# processor that lacks one of them counts as one without the extension that it comes with.
COMPANIONS = {"avx2": ("bmi", "bmi2", "lzcnt", "movbe", "popcnt"), "avx512f": ("avx512cd",)}
# What an extension needs, which LLVM enables with it, both by the names of /proc/cpuinfo. A hypervisor that hides only
# what is needed leaves a flag of an extension that cannot be used.
_NEEDED = {
    "avx512f": ("avx2", "fma", "f16c"),
    **dict.fromkeys(("avx512bw", "avx512vl", "avx512dq", "avx512_vpopcntdq", "avx512_vnni"), ("avx512f",)),
    **dict.fromkeys(("avx512vbmi", "avx512_vbmi2", "avx512_bitalg", "avx512_bf16"), ("avx512bw",)),
    **dict.fromkeys(("amx_bf16", "amx_int8"), ("amx_tile",)),
}
_FLAG_OF_COMPANION = {"bmi": "bmi1", "lzcnt": "abm"}  # where /proc/cpuinfo has another name

# what all extensions of vectors of 256 and 512 bits need, and LLVM enables with them
_BEFORE_AVX2 = ("sse3", "ssse3", "sse4.1", "sse4.2", "avx")
_NO_VECTORS_OF_AVX = frozenset({"gfni", *TILE_FEATURES})  # they need none of these

# what else LLVM may use where a processor's name brings it, and no target names
_NEVER_NAMED = """
    sse4a fma4 xop tbm adx aes pclmul vaes vpclmulqdq sha avx512ifma avx512fp16
    avx512vp2intersect avxvnni avxifma avxneconvert avxvnniint8 avxvnniint16 avx10.1-256 avx10.1-512 avx10.2-256
    avx10.2-512 cmpccxadd raoint egpr ndd nf cf zu ccmp push2pop2 ppx
""".split()

# of aarch64: LLVM's names, and what /proc/cpuinfo has for each
AARCH64_EXTENSIONS = {
    "aes": "aes",
    "bf16": "bf16",
    "complxnum": "fcma",
    "crc": "crc32",
    "dotprod": "asimddp",
    "fp16fml": "asimdfhm",
    "fullfp16": "asimdhp",
    "i8mm": "i8mm",
    "jsconv": "jscvt",
    "lse": "atomics",
    "lse2": "uscat",
    "rcpc": "lrcpc",
    "rcpc-immo": "ilrcpc",
    "rdm": "asimdrdm",
    "sha2": "sha2",
    "sha3": "sha3",
    "sm4": "sm4",
    "sme": "sme",
    "sve": "sve",
    "sve2": "sve2",
}


@functools.lru_cache(maxsize=8)
def extensions_in(flags: str) -> frozenset[str]:
    """The extensions among the flags of /proc/cpuinfo, by LLVM's names; every kernel that is loaded asks for them."""
    present = set(flags.split())

    def is_usable(flag: str) -> bool:
        companions = (_FLAG_OF_COMPANION.get(name, name) for name in COMPANIONS.get(flag, ()))
        return present.issuperset([flag, *companions]) and all(map(is_usable, _NEEDED.get(flag, ())))

    return frozenset(name for flag, (name, _) in EXTENSIONS.items() if is_usable(flag))


def vector_bits(features: Iterable[str]) -> int:
    """The widest vectors that these extensions have; 128 without any."""
    names = set(features)
    return max([128, *(bits for name, bits in EXTENSIONS.values() if name in names)])


def not_to_use(brought: Collection[str], features: Collection[str]) -> list[str]:
    """Of what an x86-64 processor's name brings in LLVM, the extensions that kernels with these ``features`` may not
    use, sorted. Whoever disables one of them disables those that need it, too: none of ``features`` does."""
    allowed = {*features, *(other for name in features for other in COMPANIONS.get(name, ()))}
    if set(features) - _NO_VECTORS_OF_AVX:
        allowed.update(_BEFORE_AVX2)
    return sorted(known().intersection(brought) - allowed)


def known() -> frozenset[str]:
    """The extensions of x86-64 that LLVM may use, as far as its version has them, by its names."""
    named = (name for name, _ in EXTENSIONS.values())
    return frozenset().union(named, _BEFORE_AVX2, _NEVER_NAMED, *COMPANIONS.values())


def not_there(brought: Collection[str], flags: str) -> list[str]:
    """Of what an aarch64 processor's name brings in LLVM, the extensions that are not among the features of
    /proc/cpuinfo, sorted."""
    present = set(flags.split())
    return sorted(name for name, flag in AARCH64_EXTENSIONS.items() if name in brought and flag not in present)
