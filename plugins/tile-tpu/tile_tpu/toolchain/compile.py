"""Compiles emitted C to a shared library: for the CModel by the host's compiler, for a card by the vendor's."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tile_tpu.chips import Chip
from tile_tpu.cmodel import FRAMES
from tile_tpu.include import FOLDER
from tile_tpu.toolchain import search
from tile_tpu.toolchain.compile_errors import SOURCE, refused
from tile_tpu.toolchain.compilers import Compiler, card_compiler, checking_compiler, host_compiler
from tile_tpu.toolchain.sdk import CModel, Firmware
from tile_tpu.toolchain.signatures import require_same
from tilecore.errors import ToolchainError, UnsupportedError

# The most characters of a kernel's name. FUNC_MAX_NAME_LEN (tpuv7_rt.h) is 64 with the final zero, but the CModel does
# not find every kernel whose name has 63 characters (docs/toolchain.md).
LONGEST_NAME = 62

# arithmetic of the control core as the interpreter defines it: no fused multiply-adds, integers wrap
_COMMON = (
    "-std=gnu11", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv",
    "-Werror=implicit-function-declaration", "-Werror=int-conversion", "-Werror=incompatible-pointer-types",
)  # fmt: skip


def for_cmodel(
    source: str,
    chip: Chip,
    name: str,
    symbols: Sequence[str] = (),
    flags: Sequence[str] = (),
    files: CModel | None = None,
) -> bytes:
    """A library that the chip's CModel loads. Raises ToolchainError.

    symbols: the registered kernels. files: the files of the CModel, by default those of an installed SDK. The library
    contains no path of this machine, so it does not depend on the folder of the SDK.
    """
    check_names(symbols)
    files = files or search.find_cmodel(chip)
    require_same(files.include, chip, source)
    options = [
        *_COMMON, "-O2", "-g1", "-DUSING_CMODEL", *_includes(chip, files.include), *flags, SOURCE,
        FRAMES.name, "-shared", "-o", "kernel.so", f"-L{files.device.parent}", f"-l:{files.device.name}", "-lm",
        "-Wl,-z,defs", "-Wl,-Bsymbolic",
    ]  # fmt: skip
    return _built(host_compiler(), options, source, name, also=(FRAMES,))


def for_card(source: str, chip: Chip, name: str, symbols: Sequence[str] = (), flags: Sequence[str] = ()) -> bytes:
    """A library that a card loads. Raises ToolchainError.

    Where the vendor's archive or compiler is missing, the source is still checked if another compiler for the same
    processor is installed.
    """
    check_names(symbols)
    try:
        files = search.find_firmware(chip)
        sdk_search = search.search()
        compiler = card_compiler(chip, sdk_search.variables, [sdk.root for sdk in sdk_search.sdks])
    except ToolchainError as error:
        if check_for_card(source, chip, name, flags):
            error.hint = f"{error.hint}. The code of {name} does compile for the chip's control core"
        raise
    require_same(files.include, chip, source)
    return _built(compiler, card_options(chip, files, flags), source, name)


def card_options(chip: Chip, files: Firmware, flags: Sequence[str]) -> list[str]:
    """The compiler options of the vendor's build (PPL's deps/scripts/pcie.cmake)."""
    archive = ["-Wl,--whole-archive", str(files.archive), "-Wl,--no-whole-archive"]
    return [
        *_COMMON, "-O3", "-flto", "-Dlibkernel_EXPORTS", *_includes(chip, files.include), *flags, SOURCE,
        "-shared", "-o", "kernel.so", *archive, "-Wl,-s", "-Wl,-z,defs", "-ldl", "-lm",
    ]  # fmt: skip


def check_for_card(source: str, chip: Chip, name: str, flags: Sequence[str] = ()) -> bool:
    """Compiles the source for the chip's control core without linking it. False where there is no compiler for it, or
    no header.

    Raises ToolchainError where the source does not compile.
    """
    compiler = checking_compiler(chip)
    include = next((folder for sdk in search.search().sdks if (folder := sdk.include(chip))), None)
    if compiler is None or include is None:
        return False
    options = [*_COMMON, "-O1", *_includes(chip, include), *flags, "-c", SOURCE, "-o", "kernel.so"]
    _built(compiler, options, source, name)
    return True


def check_names(symbols: Sequence[str]) -> None:
    """Raises UnsupportedError for a name that is too long for the runtime, which would truncate it or abort."""
    for symbol in symbols:
        if len(symbol) > LONGEST_NAME:
            raise UnsupportedError(
                f"the kernel's name {symbol} is too long for the vendor's runtime",
                found=f"{len(symbol)} characters",
                expected=f"at most {LONGEST_NAME} characters, with the suffix that tilecore adds",
                hint="give the function a shorter name",
            )


def _includes(chip: Chip, vendor: Path) -> list[str]:
    """The chip's macros, and the include folders of the vendor and of tile-tpu."""
    return [*(f"-D{name}" for name in chip.defines), f"-I{vendor}", f"-I{FOLDER}"]


def _built(compiler: Compiler, options: list[str], source: str, name: str, also: Sequence[Path] = ()) -> bytes:
    """The library that ``compiler`` builds from ``source``. also: further files that ``options`` name."""
    with tempfile.TemporaryDirectory(prefix="tilecore-") as folder:
        Path(folder, SOURCE).write_text(source)
        for path in also:
            shutil.copy(path, folder)
        folders = [folder, *(option[2:] for option in options if option.startswith("-I"))]
        prefix_maps = [
            f"-fdebug-prefix-map={path}=." for path in folders
        ]  # the library is the same wherever it is made
        succeeded, output = compiler.run([*prefix_maps, *options], folder)
        if not succeeded:
            raise refused(name, compiler.version or "the compiler", source, output, options)
        return Path(folder, "kernel.so").read_bytes()
