"""The toolchain in ``tilecore doctor``: each tool, its path, and what it allows.

The values of ``allows`` are emit (source), simulate, compile (for the CModel or a card), run (on a card).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from tile_tpu.card.board import board_library
from tile_tpu.card.torch_tpu import FIX, installed
from tile_tpu.chips import BM1684X, BM1690, CHIPS, Chip
from tile_tpu.toolchain.compilers import card_compiler, card_compiler_name, host_compiler
from tile_tpu.toolchain.search import INSTALL, Search, own_folder, search
from tile_tpu.toolchain.signatures import drift
from tilecore.contract.records import Found
from tilecore.errors import ToolchainError

_CARD_SDK = "set PPL_PROJECT_ROOT to SophGo's SDK for the card"


def find() -> Sequence[Found]:
    """All tools, in the order of the report."""
    sdk_search = search()
    return [*_own_parts(), *_sdks(sdk_search), *_cmodels(sdk_search), *_card(sdk_search)]


def _own_parts() -> Iterator[Found]:
    yield Found("code generator", True, "in this package", "", "emit")
    try:
        compiler = host_compiler()
    except ToolchainError as error:
        yield Found("C compiler", False, error.found or "", "", "simulate, compile", error.hint or "")
    else:
        yield Found("C compiler", True, compiler.command[0], compiler.version, "simulate, compile")


def _sdks(sdk_search: Search) -> Iterator[Found]:
    for sdk in sdk_search.sdks:
        chips = ", ".join(sdk.chips())
        yield Found(f"SDK ({sdk.origin})", True, f"{sdk.root}: {chips}", sdk.version, "compile")
    if not sdk_search.sdks:
        searched = "; ".join(f"nothing at {place}" for place in sdk_search.searched)
        unset = "PPL_PROJECT_ROOT, SOPHGO_TPU_ROOT and TPUC_ROOT are not set"
        yield Found("SDK", False, searched or unset, "", "compile", f"{INSTALL}, or set PPL_PROJECT_ROOT")
    for error in sdk_search.problems:
        yield Found("SDK environment", False, f"{error.message}; {error.found}", "", "compile", error.hint or "")
    chip = sdk_search.variables.get("CHIP", "")
    if chip and chip not in CHIPS:
        yield Found("CHIP", False, f"CHIP={chip}", "", "", f"it may be {', '.join(CHIPS)}; write -chip= in the target")
    yield from _drifts(sdk_search)


def _drifts(sdk_search: Search) -> Iterator[Found]:
    """The SDKs whose functions differ from those that emitted code calls."""
    for sdk in sdk_search.sdks:
        for chip in CHIPS.values():
            include = sdk.include(chip)
            try:
                words = drift(include, chip).description() if include else ""
            except ToolchainError:  # no compiler, which is reported already
                return
            if words:
                yield Found(
                    f"interface for {chip.name}", False, f"{sdk.root} has {words}", sdk.version, "compile",
                    "use PPL 1.7, or upgrade tile-tpu; kernels that do not call these functions are not affected",
                )  # fmt: skip


def _cmodels(sdk_search: Search) -> Iterator[Found]:
    for chip in CHIPS.values():
        files = next((files for sdk in sdk_search.sdks if (files := sdk.cmodel(chip))), None)
        name = f"CModel of {chip.name}"
        if files is not None:
            yield Found(name, True, os.fspath(files.device), files.version, "simulate")
        else:
            where = f"in none of {len(sdk_search.sdks)} SDKs" if sdk_search.sdks else "no SDK"
            yield Found(name, False, f"{where}, nothing in {own_folder()}", "", "simulate", INSTALL)


def _card(sdk_search: Search) -> Iterator[Found]:
    for chip in (BM1690, BM1684X):
        yield _compiler(chip, sdk_search)
    archives = [firmware for sdk in sdk_search.sdks for chip in CHIPS.values() if (firmware := sdk.firmware(chip))]
    if archives:
        where = ", ".join(os.fspath(firmware.archive) for firmware in archives)
        yield Found("libfirmware_core.a", True, where, archives[0].version, "compile for a card")
    else:
        yield Found("libfirmware_core.a", False, "in no SDK; the wheel has none", "", "compile for a card", _CARD_SDK)
    library, searched = board_library()
    if library is not None:
        yield Found("card runtime", True, os.fspath(library), "", "run")
    else:
        fix = "install the driver and runtime of the card (tpuv7)"
        yield Found("card runtime", False, ", ".join(searched) or "nowhere", "", "run", fix)
    package = installed()
    words = package.problem()
    yield Found(
        "torch_tpu", not words, words or os.fspath(package.folder or ""), package.version, "run", FIX if words else ""
    )


def _compiler(chip: Chip, sdk_search: Search) -> Found:
    name, allows = card_compiler_name(chip), "compile for a card"
    try:
        compiler = card_compiler(chip, sdk_search.variables, [sdk.root for sdk in sdk_search.sdks])
    except ToolchainError as error:
        return Found(name, False, error.found or "", "", allows, error.hint or "")
    return Found(name, True, compiler.command[0], compiler.version, allows)
