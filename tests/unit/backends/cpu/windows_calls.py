"""Runs kernels that were compiled for Windows in a process of Linux: the code is the same, what it calls is wrapped.

A C compiler that knows the calls of Windows (``ms_abi``) makes functions of the C library that are called as there, and
entries that are called as on Linux. With ``pytest -p windows_calls`` all kernels of the target cpu are for Windows:

    cd tests/unit/backends/cpu
    PYTHONPATH=. TILECORE_TEST_TARGETS=cpu pytest -p windows_calls --pyargs tilecore.testing.conformance -k gemm
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import mmap
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tilecore.backends.cpu import adapter, elf, host_processor, posix_memory, systems, windows_memory

UNARY = "exp exp2 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf nearbyint"
UNARY += " floor ceil trunc"
BINARY = "pow atan2 fmod hypot nextafter fmin fmax"
ENTRIES = 512  # kernels that may be loaded at the same time
SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define WINDOWS __attribute__((ms_abi))
#define UNARY(name) \
  WINDOWS double w_##name(double x) { return name(x); } \
  WINDOWS float w_##name##f(float x) { return name##f(x); }
#define BINARY(name) \
  WINDOWS double w_##name(double x, double y) { return name(x, y); } \
  WINDOWS float w_##name##f(float x, float y) { return name##f(x, y); }
WINDOWS float w__hypotf(float x, float y) { return hypotf(x, y); }
WINDOWS double w_fma(double x, double y, double z) { return fma(x, y, z); }
WINDOWS float w_fmaf(float x, float y, float z) { return fmaf(x, y, z); }
WINDOWS double w_ldexp(double x, int n) { return ldexp(x, n); }
WINDOWS void *w_memcpy(void *to, const void *from, size_t n) { return memcpy(to, from, n); }
WINDOWS void *w_memmove(void *to, const void *from, size_t n) { return memmove(to, from, n); }
WINDOWS void *w_memset(void *to, int value, size_t n) { return memset(to, value, n); }
WINDOWS int w_fflush(FILE *file) { return fflush(file); }
WINDOWS FILE *w___acrt_iob_func(unsigned number) { return number == 1 ? stdout : NULL; }
__asm__(".globl w___chkstk\nw___chkstk: ret\n");

WINDOWS int w___stdio_common_vfprintf(
    uint64_t options, FILE *file, const char *text, void *locale, const uint64_t *slots) {
  (void)options; (void)locale;
  for (; *text; ++text) {
    if (text[0] != '%') { fputc(*text, file); continue; }
    ++text;
    if (*text == '%') fputc('%', file);
    else if (*text == 'g') { double x; memcpy(&x, slots++, 8); fprintf(file, "%g", x); }
    else if (!strncmp(text, "lld", 3)) { fprintf(file, "%lld", (long long)*slots++); text += 2; }
    else if (!strncmp(text, "llu", 3)) { fprintf(file, "%llu", (unsigned long long)*slots++); text += 2; }
    else return -1;
  }
  return 0;
}
typedef WINDOWS int32_t (*entry)(const int64_t *, int64_t, int64_t, uint8_t *);
entry entries[512];
#define ENTRY(n) \
  int32_t entry_##n(const int64_t *slots, int64_t begin, int64_t end, uint8_t *scratch) { \
    return entries[n](slots, begin, end, scratch); \
  }
"""

_numbers = itertools.count()  # of entries, for the process: kernels stay loaded


@functools.lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("needs gcc or clang, on Linux on x86-64")
    text = SOURCE + "\n".join([
        *(f"UNARY({name})" for name in UNARY.split()), *(f"BINARY({name})" for name in BINARY.split()),
        *(f"ENTRY({number})" for number in range(ENTRIES)),
    ])  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "calls.c").write_text(text)
        command = [compiler, "-O1", "-fPIC", "-shared", "-fno-builtin", "-o", "calls.so", "calls.c", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
        return ctypes.CDLL(f"{folder}/calls.so")


def external(name: str) -> int | None:
    """The address of a function of the UCRT, as far as kernels may call it."""
    function = getattr(library(), f"w_{name}", None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


class Kernel32:
    """The functions that windows_memory.py calls, by those of Linux."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.flushed: list[tuple[int, int]] = []
        self.refuses = False

    def VirtualAlloc(self, address: int | None, size: int, kind: int, rights: int) -> int | None:
        assert (kind, rights) == (0x3000, 4)
        if self.refuses:
            return None
        place = posix_memory.Mapping(size).address if address is None else self._fixed(address, size)
        self.sizes[place] = size
        return place

    def _fixed(self, address: int, size: int) -> int:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x100000  # MAP_FIXED_NOREPLACE
        return posix_memory._libc().mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)

    def VirtualProtect(self, address: int, size: int, rights: int, before: Any) -> int:
        posix = {2: mmap.PROT_READ, 4: mmap.PROT_READ | mmap.PROT_WRITE, 0x20: mmap.PROT_READ | mmap.PROT_EXEC}[rights]
        return int(posix_memory._libc().mprotect(address, size, posix) == 0)

    def VirtualFree(self, address: int, size: int, kind: int) -> int:
        assert (size, kind) == (0, 0x8000)
        posix_memory.unmap(address, self.sizes.pop(address))
        return 1

    def GetCurrentProcess(self) -> int:
        return -1

    def FlushInstructionCache(self, process: int, address: int, size: int) -> int:
        self.flushed.append((address, size))
        return 1


def install(patch: pytest.MonkeyPatch) -> Kernel32:
    """Until the patch is undone this machine is one with Windows, for the target cpu."""
    fields = host_processor.fields()
    kernel32 = Kernel32()
    calls = library()

    class Loaded(elf.LoadedObject):
        def address(self, symbol: str) -> int:
            number = next(_numbers) % ENTRIES
            table = (ctypes.c_void_p * ENTRIES).in_dll(calls, "entries")
            table[number] = super().address(symbol)
            return ctypes.cast(getattr(calls, f"entry_{number}"), ctypes.c_void_p).value or 0

    for module in (systems, elf, host_processor):
        patch.setattr(module, "host_system", lambda: systems.WINDOWS)
    patch.setattr(host_processor, "fields", lambda: fields)
    patch.setattr(host_processor, "cache_bytes", lambda: 0)
    for module in (systems, adapter):
        patch.setattr(module, "this_machine", lambda: "win32-AMD64")
    patch.setattr(windows_memory, "_kernel32", lambda: kernel32)
    patch.setattr(elf, "MemoryMapping", windows_memory.Mapping)
    patch.setattr(elf, "unmap", windows_memory.unmap)
    patch.setattr(elf, "find_external", external)
    patch.setattr(elf, "LoadedObject", Loaded)
    return kernel32


def pytest_configure(config: pytest.Config) -> None:
    patch = pytest.MonkeyPatch()
    install(patch)
    config.add_cleanup(patch.undo)
