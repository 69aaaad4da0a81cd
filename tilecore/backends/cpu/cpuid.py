"""Asks an x86-64 processor what it is and what it has, where no file of the system tells: the instruction CPUID.

Source: Intel 64 and IA-32 Architectures SDM, volume 2, CPUID and XGETBV; AMD64 Architecture Programmer's Manual,
volume 3, appendix E. Only extensions that the system saves for threads count (XCR0).
"""

from __future__ import annotations

import ctypes
from typing import Any

from tilecore.backends.cpu.code_memory import EXECUTE, READ, Mapping
from tilecore.backends.cpu.systems import WINDOWS, host_system

# void cpuid(uint32 leaf, uint32 subleaf, uint32 *answer): arguments are in edi, esi, rdx, on Windows ecx, edx, r8
_ARGUMENTS = bytes.fromhex("53 4989d0 89f8 89f1")  # push rbx; mov r8, rdx; mov eax, edi; mov ecx, esi
_ARGUMENTS_ON_WINDOWS = bytes.fromhex("53 89c8 89d1")  # push rbx; mov eax, ecx; mov ecx, edx
# cpuid; mov [r8], eax; mov [r8 + 4], ebx; mov [r8 + 8], ecx; mov [r8 + 12], edx; pop rbx; ret
_ASK = bytes.fromhex("0fa2 418900 41895804 41894808 4189500c 5b c3")
_XGETBV = bytes.fromhex("31c9 0f01d0 c3")  # uint32 xcr0(): xor ecx, ecx; xgetbv; ret
_XGETBV_AT = 64

_EAX, _EBX, _ECX = 0, 1, 2
_EXTENDED = 0x80000000  # the first of the leaves of extended functions
_SAVES_AVX, _SAVES_AVX512 = 0x6, 0xE6  # bits of XCR0
# name in /proc/cpuinfo: leaf, subleaf, register, bit, what of XCR0 it needs
_FLAGS = {
    "movbe": (1, 0, _ECX, 22, 0),
    "popcnt": (1, 0, _ECX, 23, 0),
    "abm": (_EXTENDED + 1, 0, _ECX, 5, 0),
    "bmi1": (7, 0, _EBX, 3, 0),
    "bmi2": (7, 0, _EBX, 8, 0),
    "gfni": (7, 0, _ECX, 8, 0),
    "fma": (1, 0, _ECX, 12, _SAVES_AVX),
    "f16c": (1, 0, _ECX, 29, _SAVES_AVX),
    "avx2": (7, 0, _EBX, 5, _SAVES_AVX),
    "avx512f": (7, 0, _EBX, 16, _SAVES_AVX512),
    "avx512dq": (7, 0, _EBX, 17, _SAVES_AVX512),
    "avx512bw": (7, 0, _EBX, 30, _SAVES_AVX512),
    "avx512vl": (7, 0, _EBX, 31, _SAVES_AVX512),
    "avx512cd": (7, 0, _EBX, 28, _SAVES_AVX512),
    "avx512vbmi": (7, 0, _ECX, 1, _SAVES_AVX512),
    "avx512_vbmi2": (7, 0, _ECX, 6, _SAVES_AVX512),
    "avx512_bitalg": (7, 0, _ECX, 12, _SAVES_AVX512),
    "avx512_vpopcntdq": (7, 0, _ECX, 14, _SAVES_AVX512),
    "avx512_vnni": (7, 0, _ECX, 11, _SAVES_AVX512),
    "avx512_bf16": (7, 1, _EAX, 5, _SAVES_AVX512),
}
_OSXSAVE = 27  # bit of leaf 1, ecx: whether there is XGETBV
_BRAND = range(_EXTENDED + 2, _EXTENDED + 5)


def fields() -> dict[str, str]:
    """Of the processor that runs this, in the form of /proc/cpuinfo: vendor_id, cpu family, model, model name, flags.
    Raises ToolchainError where the system lets no program make code."""
    memory = Mapping(4096)
    try:
        arguments = _ARGUMENTS_ON_WINDOWS if host_system() == WINDOWS else _ARGUMENTS
        memory.write(bytearray((arguments + _ASK).ljust(_XGETBV_AT, b"\xcc") + _XGETBV))
        memory.protect(0, 4096, READ | EXECUTE)
        return _Processor(memory.address).fields()
    finally:
        memory.unmap()


class _Processor:
    """Calls the code at ``address``."""

    def __init__(self, address: int) -> None:
        ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
        self._ask: Any = ask(address)
        self._xcr0: Any = ctypes.CFUNCTYPE(ctypes.c_uint32)(address + _XGETBV_AT)
        self._largest = {0: self._leaf(0)[_EAX], 7: 0, _EXTENDED: self._leaf(_EXTENDED)[_EAX]}
        self._largest[7] = self._leaf(7)[_EAX] if self._largest[0] >= 7 else -1

    def fields(self) -> dict[str, str]:
        _, b, c, d = self._leaf(0)
        signature = self._leaf(1)[_EAX]
        base, extended = signature >> 8 & 15, signature >> 20 & 255
        model = signature >> 4 & 15 | (signature >> 12 & 0xF0 if base in (6, 15) else 0)
        return {
            "vendor_id": _text(b, d, c),
            "cpu family": str(base + (extended if base == 15 else 0)),
            "model": str(model),
            "model name": _text(*(word for leaf in _BRAND for word in self._leaf(leaf))),
            "flags": " ".join(name for name in _FLAGS if self._has(*_FLAGS[name])),
        }

    def _has(self, leaf: int, subleaf: int, register: int, bit: int, saved: int) -> bool:
        if (
            leaf > self._largest[leaf & _EXTENDED]
            or subleaf > self._largest.get(leaf, 0)
            or not self._leaf(1)[_ECX] >> _OSXSAVE & 1
        ):
            return False
        return self._xcr0() & saved == saved and bool(self._leaf(leaf, subleaf)[register] >> bit & 1)

    def _leaf(self, leaf: int, subleaf: int = 0) -> tuple[int, ...]:
        answer = (ctypes.c_uint32 * 4)()
        self._ask(leaf, subleaf, ctypes.addressof(answer))
        return tuple(answer)


def _text(*words: int) -> str:
    return b"".join(word.to_bytes(4, "little") for word in words).rstrip(b"\0").decode("ascii", "replace").strip()
