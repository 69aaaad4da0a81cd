"""Searches for SDKs: by the vendor's variables, in tilecore's folder, and among installed packages."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tile_tpu.chips import Chip
from tile_tpu.toolchain import environment
from tile_tpu.toolchain.sdk import CModel, Firmware, Sdk, in_wheel
from tile_tpu.toolchain.wheel import FOLDER
from tilecore import settings
from tilecore.errors import ToolchainError

INSTALL = "tilecore toolchain install tpu"
_SCRIPTS = ("3rdparty/sophgo_tpu/envsetup.sh", "envsetup.sh")
_Part = TypeVar("_Part")


@dataclass
class Search:
    """The result of a search.

    sdks: the SDKs, in the order in which files are looked up. searched: descriptions of places without an SDK.
    problems: the errors of scripts. variables: the vendor's variables, from the environment and from scripts.
    """

    sdks: list[Sdk] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    problems: list[ToolchainError] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def add(self, root: Path, origin: str) -> None:
        """Adds ``root`` if it is an SDK that the search does not have yet."""
        root = Path(os.path.abspath(root))
        if any(sdk.root == root for sdk in self.sdks):
            return
        sdk = Sdk(root, origin)
        if sdk.chips():
            self.sdks.append(sdk)
        else:
            self.searched.append(f"{origin} ({root})")


def search() -> Search:
    """All SDKs of this machine. The results of scripts, which may take seconds, are cached."""
    sdk_search = Search()
    _by_variables(sdk_search, os.environ, "")
    for script in _scripts(sdk_search):
        try:
            variables = environment.sourced(script)
        except ToolchainError as error:
            sdk_search.problems.append(error)
            continue
        _by_variables(sdk_search, variables, f" of {script}")
    for package, origin in _packages():
        sdk_search.add(in_wheel(package), origin)
    return sdk_search


def _by_variables(sdk_search: Search, variables: Mapping[str, str], suffix: str) -> None:
    for name in ("PPL_PROJECT_ROOT", "PPL_RUNTIME_PATH", "TPUC_ROOT", "SOPHGO_TPU_ROOT", "CROSS_TOOLCHAINS", "CHIP"):
        value = variables.get(name, "").strip()
        if not value:
            continue
        sdk_search.variables.setdefault(name, value)
        path = Path(value).expanduser()
        if name == "PPL_PROJECT_ROOT":
            sdk_search.add(path, name + suffix)
        elif name == "PPL_RUNTIME_PATH" and path.name == "deps":  # the release's folder deps
            sdk_search.add(path.parent, name + suffix)
        elif name == "TPUC_ROOT":  # the vendor's variable for an installed tpu_mlir
            sdk_search.add(in_wheel(path), name + suffix)
        elif name == "SOPHGO_TPU_ROOT":
            for inner in (path, path / "3rdparty" / "sophgo_tpu"):
                sdk_search.add(inner, name + suffix)


def _scripts(sdk_search: Search) -> Iterator[Path]:
    root = sdk_search.variables.get("SOPHGO_TPU_ROOT")
    for name in _SCRIPTS if root else ():
        script = Path(root or "").expanduser() / name
        if script.is_file():
            yield script
            return


def own_folder() -> Path | None:
    """The folder to which tilecore unpacks the vendor's wheel; None where the user has no home directory."""
    data = settings.data_dir()
    return None if data is None else Path(data) / "tpu" / FOLDER


def _packages() -> Iterator[tuple[Path, str]]:
    unpacked = own_folder()
    if unpacked is not None:
        yield unpacked / "tpu_mlir", "tilecore's own copy"
    try:
        spec = importlib.util.find_spec("tpu_mlir")
    except (ImportError, ValueError):
        return
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield Path(folder), "the package tpu_mlir"


def find_cmodel(chip: Chip) -> CModel:
    """The CModel of a chip. Raises ToolchainError, which lists the places that were searched and how to install it."""
    return _find(chip, "CModel", lambda sdk: sdk.cmodel(chip), INSTALL)


def find_firmware(chip: Chip) -> Firmware:
    """The files that code for a card is built with. Raises ToolchainError."""
    hint = "set PPL_PROJECT_ROOT to SophGo's SDK for the card: its wheel has no libfirmware_core.a"
    return _find(chip, "card SDK (headers and libfirmware_core.a)", lambda sdk: sdk.firmware(chip), hint)


def _find(chip: Chip, part_name: str, part: Callable[[Sdk], _Part | None], hint: str) -> _Part:
    sdk_search = search()
    for sdk in sdk_search.sdks:
        files = part(sdk)
        if files is not None:
            return files
    without = [f"{sdk.root} ({sdk.origin}) has none" for sdk in sdk_search.sdks]
    failed = [error.message for error in sdk_search.problems]
    raise ToolchainError(
        f"there is no {part_name} for {chip.name}",
        found="; ".join([*without, *failed, *(f"nothing at {place}" for place in sdk_search.searched)]) or "no SDK",
        expected="an SDK named by PPL_PROJECT_ROOT, SOPHGO_TPU_ROOT or TPUC_ROOT, or the wheel tpu_mlir",
        hint=hint,
    )
