"""What this Mac is: its GPU and its family, the versions of macOS and of the Metal Shading Language."""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from dataclasses import dataclass

from tile_metal import families
from tile_metal.runtime import objc

OLDEST_MACOS = min(families.MSL.values())
_FIRST_FAMILY = 1000  # MTLGPUFamilyApple7 is 1007 (MTLDevice.h)


@dataclass(frozen=True)
class Machine:
    """A Mac that runs Metal kernels.

    gpu: its name, such as "Apple M3 Max". family: the number of the GPU's family, 7 for apple7; None where the GPU does
    not say one that tile-metal has, as on virtual Macs, which run kernels all the same. macos: major and minor version.
    msl: the newest version of the Metal Shading Language that tile-metal and macOS have, such as "3.2".
    """

    gpu: str
    family: int | None
    macos: tuple[int, int]
    msl: str


class NoMachine(Exception):
    """This machine runs no Metal kernels; the message says why, and what to do."""


@functools.lru_cache(maxsize=1)
def machine() -> Machine | None:
    """This Mac; None where Metal kernels do not run, which :func:`problem` explains. Cached."""
    try:
        return _machine()
    except NoMachine:
        return None


@functools.lru_cache(maxsize=1)
def problem() -> str:
    """Why this machine runs no Metal kernels, in a sentence with what to do; "" where it runs them. Cached."""
    try:
        _machine()
    except NoMachine as error:
        return str(error)
    return ""


def newest_msl(macos: int) -> str:
    """The newest version of MSL that a version of macOS has; "" before macOS 13."""
    return max((version for version, first in families.MSL.items() if first <= macos), default="")


def missing_msl(version: str, macos: tuple[int, int]) -> str:
    """Why this macOS does not compile a version of MSL, with what to do; "" where it does."""
    if macos[0] >= families.MSL[version]:
        return ""
    newest = newest_msl(macos[0])
    return (
        f"MSL {version} needs macOS {families.MSL[version]}, and this is macOS {macos[0]}.{macos[1]}: update macOS, or "
        f'use target="metal -msl={newest}"'
    )


@functools.lru_cache(maxsize=1)
def build() -> str:
    """The build of macOS, such as "24D70", for whose driver kernels are compiled; "" where it is not known. Cached."""
    return _control("kern.osversion")


@functools.lru_cache(maxsize=1)
def _machine() -> Machine:
    if sys.platform != "darwin":
        raise NoMachine(
            "Metal is part of macOS, and this machine has another system: run kernels on a Mac, or with "
            "TILECORE_SIMULATE=1"
        )
    if platform.machine() != "arm64":
        if _control("hw.optional.arm64", number=True) == "1":
            raise NoMachine("this Python is one for Intel processors, which Rosetta translates: use a Python for arm64")
        raise NoMachine("this Mac has an Intel processor, and tile-metal supports the GPUs of Apple silicon alone")
    macos = _macos()
    if macos[0] < OLDEST_MACOS:
        raise NoMachine(
            f"tile-metal needs macOS {OLDEST_MACOS} or newer, and this is {macos[0]}.{macos[1]}: update macOS"
        )
    gpu, family = _gpu()
    return Machine(gpu, family, macos, newest_msl(macos[0]))


def _macos() -> tuple[int, int]:
    """Major and minor version. Some builds of Python are told an old one for compatibility, the kernel is not."""
    version = _control("kern.osproductversion") or platform.mac_ver()[0]
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    return int(major) if major.isdecimal() else 0, int(minor) if minor.isdecimal() else 0


def _control(name: str, number: bool = False) -> str:
    """A value of the kernel's (sysctl); "" where there is none. number: it is an int of 4 bytes."""
    value, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    try:
        failed = ctypes.CDLL(None).sysctlbyname(name.encode(), value, ctypes.byref(size), None, ctypes.c_size_t(0))
    except (AttributeError, OSError):
        return ""
    if failed:
        return ""
    return str(int.from_bytes(value.raw[:4], "little")) if number else value.value.decode(errors="replace")


def _gpu() -> tuple[str, int | None]:
    """The name and the family of the default GPU."""
    from tile_metal.runtime.device import NoDevice, default_device

    try:
        device = default_device()
        with device.runtime.pool():
            name = device.runtime.text(device.runtime.send(device.handle, "name"))
            numbers = sorted((family.number for family in families.FAMILIES.values()), reverse=True)
            supported = (n for n in numbers if device.runtime.send(device.handle, "supportsFamily:", _FIRST_FAMILY + n))
            return name, next(supported, None)
    except (NoDevice, objc.ObjectiveCError) as error:
        raise NoMachine(
            f"Metal shows no GPU ({error}): run in a session of a user who is logged in on the Mac"
        ) from None
