"""Installs a compiler for AMD's GPUs and the math library's bitcode, for ``tilecore toolchain install hip``.

From wheels on PyPI: zig, whose program contains a whole clang and lld with AMD's instruction sets (nothing else of its
wheel is kept), and ocml.bc, which IREE's compiler carries. Bitcode is the same for all hosts.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from tilecore import settings
from tilecore.contract.records import Installable, InstallRequest
from tilecore.errors import ToolchainError
from tilecore.wheels.install import install as install_wheels
from tilecore.wheels.install import installed_folder
from tilecore.wheels.record import Wheel

KIND = "hip"  # the target, whose name the folder has
COMMAND = "tilecore toolchain install hip"
_PROGRAM = "ziglang/zig"
_BITCODE = "iree/compiler/_mlir_libs/iree_platform_libs/rocm"
_LIBRARY = f"{_BITCODE}/ocml.bc"


def _is_of_zig(member: str) -> bool:
    return member in (_PROGRAM, "ziglang/LICENSE") or member == "ziglang-0.17.1.dist-info/METADATA"


def _is_of_library(member: str) -> bool:
    return member in (_LIBRARY, "iree_base_compiler-3.13.0.dist-info/METADATA")


def _zig(file_platform: str, file_bytes: int, sha256: str) -> Wheel:
    return Wheel(
        "ziglang",
        "0.17.1",
        file=f"ziglang-0.17.1-py3-none-{file_platform}.whl",
        file_bytes=file_bytes,
        sha256=sha256,
        unpacked_bytes=186_000_000,
        is_needed=_is_of_zig,
        required=(_PROGRAM,),
        executables=(_PROGRAM,),
        pip_options=("--platform", file_platform.split(".")[0]),
    )


# by the name of the machine's instruction set
ZIG = {
    "x86_64": _zig(
        "manylinux_2_12_x86_64.manylinux2010_x86_64.musllinux_1_1_x86_64",
        101_083_562,
        "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
    ),
    "aarch64": _zig(
        "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        98_063_064,
        "b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e",
    ),
}
LIBRARY = Wheel(
    "iree-base-compiler",
    "3.13.0",
    file="iree_base_compiler-3.13.0-cp312-abi3-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    file_bytes=83_634_623,
    sha256="d09d2ebd8955d3eeeab5677007c3d26830c8585c61a0e0ccdfc020b63c129e6f",
    unpacked_bytes=300_000,
    is_needed=_is_of_library,
    required=(_LIBRARY,),
    pip_options=("--python-version", "3.12", "--platform", "manylinux_2_28_x86_64"),
)


def wheels() -> list[Wheel]:
    """The wheels for this machine. Raises ToolchainError where there is no compiler for it."""
    machine = platform.machine()
    if platform.system() != "Linux" or machine not in ZIG:
        raise ToolchainError(
            "tilecore cannot install a compiler for AMD's GPUs on this machine",
            found=f"{platform.system()} on {machine}",
            expected="Linux on " + " or ".join(ZIG),
            hint="install clang 18 or newer with lld, and set TILE_HIP_CLANG to it",
        )
    return [ZIG[machine], LIBRARY]


def _folder() -> Path | None:
    """tilecore's folder for the target; None where the user has no home."""
    root = settings.data_dir()
    return Path(root) / KIND if root else None


def compiler_folder() -> Path | None:
    """The folder of the installed program ``zig``; None where it is not installed."""
    folder = _folder()
    wheel = ZIG.get(platform.machine())
    installation = installed_folder(folder, wheel) if folder and wheel else None
    return installation / "ziglang" if installation else None


def library_folder() -> Path | None:
    """The folder of the installed ``ocml.bc``; None where it is not installed."""
    folder = _folder()
    installation = installed_folder(folder, LIBRARY) if folder else None
    return installation / _BITCODE if installation else None


def installed(folder: str) -> str:
    """The folder of the installed compiler, below tilecore's folder for the target; "" where it or the math library is
    not installed, or a file is missing."""
    try:
        folders = [installed_folder(Path(folder), wheel) for wheel in wheels()]
    except ToolchainError:
        return ""
    return os.fspath(folders[0]) if folders[0] and all(folders) else ""


def install(request: InstallRequest) -> str:
    """Installs the compiler and the math library. Raises ToolchainError, after which each is as it was, or whole."""
    return os.fspath(install_wheels(request, wheels())[0])


_ANY = ZIG["x86_64"]
INSTALLABLE = Installable(
    name=f"clang of ziglang {_ANY.version}, ocml of IREE {LIBRARY.version}",
    doc="clang 22 and its linker, which compile for all of AMD's GPUs, from the wheel ziglang on PyPI (licences: MIT, "
    "and for LLVM Apache-2.0 with its exception), and ROCm's math library for devices as bitcode, from the wheel "
    "iree-base-compiler on PyPI (licences: Apache-2.0, and for the library NCSA). Only those files are kept",
    download_bytes=_ANY.file_bytes + LIBRARY.file_bytes,
    installed_bytes=_ANY.unpacked_bytes + LIBRARY.unpacked_bytes,
    installed=installed,
    install=install,
)
