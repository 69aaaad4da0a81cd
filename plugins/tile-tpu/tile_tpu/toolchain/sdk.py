"""The layout of an SDK on disk: the paths of its files.

There are several layouts of the same files. A PPL release (``PPL_PROJECT_ROOT``) has them under ``deps/``: headers in
``deps/chip/<arch>/TPU1686/kernel/include``, a chip's libraries in ``deps/chip/<arch>/lib``, the runtime's in
``deps/runtime/<runtime>/lib`` (its ``deps/chip/<arch>/config_common.cmake``). The wheel ``tpu_mlir`` has one in
``cross_toolchains/ppl_compile``, and all libraries in ``lib``. The tree that ``SOPHGO_TPU_ROOT`` names has
``runtime/<chip>`` in place of ``deps/chip/<arch>``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tile_tpu.chips import CHIPS, Chip

_INCLUDE = "TPU1686/kernel/include"
_RUNTIMES = {"tpurt": ("libtpuv7_rt.so",), "bmlib": ("libbmlib.so", "libbmlib.so.0")}
_RUNTIME_FOLDERS = {"tpurt": "tpuv7-runtime", "bmlib": "bmlib"}
_DEVICE_NAMES = {"tpurt": "libtpuv7_emulator.so", "bmlib": "libcmodel_firmware.so"}  # of a release, in a chip's folder
SCALAR = "libtpuv7_scalar_emulator.so"


@dataclass(frozen=True)
class CModel:
    """The files of the CModel of one chip.

    include: the folder of ``tpu_kernel.h``. device: the library that kernels link to. runtime: the library that
    launches kernels. scalar: the emulator of the control core, None where the runtime needs none. version: the version
    of the SDK.
    """

    include: Path
    device: Path
    runtime: Path
    scalar: Path | None
    version: str


@dataclass(frozen=True)
class Firmware:
    """The files that code for a card is built with. include: the folder of ``tpu_kernel.h``. archive: the path of
    ``libfirmware_core.a``."""

    include: Path
    archive: Path
    version: str


@dataclass(frozen=True)
class Sdk:
    """An SDK. root: the folder that contains ``deps`` or ``runtime``. origin: how it was found, for messages."""

    root: Path
    origin: str

    @property
    def version(self) -> str:
        """The version from the SDK's file ``version``; "" without one."""
        try:
            match = re.match(r"v?(\d\S*)", (self.root / "version").read_text(errors="replace"))
        except OSError:
            return ""
        return match[1] if match else ""

    def include(self, chip: Chip) -> Path | None:
        """The folder of the chip's ``tpu_kernel.h``."""
        folders = (folder / _INCLUDE for folder in self._chip_folders(chip))
        return next((p for p in folders if (p / "tpu_kernel.h").is_file()), None)

    def firmware(self, chip: Chip) -> Firmware | None:
        """The files that code for a card is built with; None where one of them is missing."""
        include = self.include(chip)
        archive = self._first(self._chip_libraries(chip), ("libfirmware_core.a",))
        return Firmware(include, archive, self.version) if include and archive else None

    def cmodel(self, chip: Chip) -> CModel | None:
        """The files of the chip's CModel; None where one of them is missing."""
        include = self.include(chip)
        folders = [*self._chip_libraries(chip), *self._libraries(), self._runtime(chip)]
        device = self._first(self._chip_libraries(chip), (_DEVICE_NAMES[chip.runtime],)) or self._first(
            self._libraries(), (chip.device_library,)
        )
        runtime = self._first([self._runtime(chip), *folders], _RUNTIMES[chip.runtime])
        scalar = self._first(folders, (SCALAR,)) if chip.runtime == "tpurt" else None
        if include is None or device is None or runtime is None or (chip.runtime == "tpurt" and scalar is None):
            return None
        return CModel(include, device, runtime, scalar, self.version)

    def chips(self) -> list[str]:
        """The names of the supported chips for which the SDK has headers."""
        return [name for name, chip in CHIPS.items() if self.include(chip)]

    def _chip_folders(self, chip: Chip) -> list[Path]:
        old = [self.root / "runtime" / name for name in (chip.name, chip.arch)]
        return [self.root / "deps" / "chip" / chip.arch, *old]

    def _chip_libraries(self, chip: Chip) -> list[Path]:
        return [folder / "lib" for folder in self._chip_folders(chip)]

    def _runtime(self, chip: Chip) -> Path:
        return self.root / "deps" / "runtime" / _RUNTIME_FOLDERS[chip.runtime] / "lib"

    def _libraries(self) -> list[Path]:
        """The folders with libraries of all chips; in the wheel it is two levels above the root."""
        wheel = self.root.parent.parent / "lib"
        return [self.root / "lib", self.root / "runtime" / "lib", *([wheel] if _is_in_wheel(self.root) else [])]

    @staticmethod
    def _first(folders: list[Path], names: tuple[str, ...]) -> Path | None:
        return next((f / n for f in folders for n in names if (f / n).is_file()), None)


def _is_in_wheel(root: Path) -> bool:
    return root.name == "ppl_compile" and root.parent.name == "cross_toolchains"


def in_wheel(package: Path) -> Path:
    """The SDK's root in the unpacked package ``tpu_mlir``."""
    return package / "cross_toolchains" / "ppl_compile"
