"""What this machine's processor is, from wherever the system tells it, in the form of Linux's /proc/cpuinfo."""

from __future__ import annotations

import ctypes
import functools

from tilecore.backends.cpu.systems import LINUX, MACOS, X86_64, host_machine, host_system
from tilecore.errors import ToolchainError


@functools.lru_cache(maxsize=1)
def fields() -> dict[str, str]:
    """``vendor_id``, ``cpu family``, ``model``, ``model name`` and ``flags`` as far as they are known."""
    system, machine = host_system(), host_machine()
    if system == LINUX:
        return _of_linux()
    if machine == X86_64:
        from tilecore.backends.cpu import cpuid

        try:
            return cpuid.fields()
        except ToolchainError:  # no code may be made here: kernels for no extensions, which cannot be loaded either
            return {}
    return _of_macos() if system == MACOS else {}


def _of_linux() -> dict[str, str]:
    """The first processor's entries of /proc/cpuinfo; empty where there is none."""
    entries: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.strip():
                    break
                name, _, value = line.partition(":")
                entries[name.strip()] = value.strip()
    except OSError:
        pass
    return entries


def _of_macos() -> dict[str, str]:
    """The name of the chip, which stands for its extensions as well."""
    name = _control("machdep.cpu.brand_string").rstrip(b"\0").decode("utf-8", "replace")
    return {"vendor_id": name, "model name": name} if name else {}


def cache_bytes() -> int:
    """Size of the largest cache, 0 where the system does not say."""
    if host_system() == MACOS:
        return max(int.from_bytes(_control(f"hw.{name}cachesize"), "little") for name in ("l2", "l3"))
    return _cache_of_linux()


def _cache_of_linux() -> int:
    sizes = [0]
    for index in range(8):
        try:
            with open(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size", encoding="utf-8") as file:
                text = file.read().strip()
        except (OSError, UnicodeDecodeError):
            break
        digits, unit = text[:-1], {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 0)
        if digits.isdigit():
            sizes.append(int(digits) * unit)
    return max(sizes)


def _control(name: str) -> bytes:
    """A value of sysctl; empty where there is none."""
    try:
        ask = ctypes.CDLL(None).sysctlbyname
    except (OSError, AttributeError):
        return b""
    value, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
    failed = ask(name.encode(), value, ctypes.byref(size), None, ctypes.c_size_t(0))
    return b"" if failed else value.raw[: size.value]
