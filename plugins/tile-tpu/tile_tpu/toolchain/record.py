"""The toolchain of tile-tpu, which the hook ``tilecore_toolchain`` returns."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

from tile_tpu.adapter import CMODEL, FIRMWARE
from tile_tpu.chips import Chip, chip_of
from tile_tpu.cmodel import FRAMES
from tile_tpu.include import FOLDER
from tile_tpu.simulated import SimulatorAdapter
from tile_tpu.toolchain import report
from tile_tpu.toolchain.compile import for_card, for_cmodel
from tile_tpu.toolchain.compilers import host_compiler
from tile_tpu.toolchain.install import INSTALLABLE
from tile_tpu.toolchain.search import find_cmodel, search
from tilecore.contract.records import BuildRequest, Found, Toolchain
from tilecore.errors import ToolchainError
from tilecore.target import Target

_CARD = ("tpurt", "torch_tpu")


def build(request: BuildRequest) -> tuple[bytes, str]:
    """Builds the library for the CModel or for a card, as the execution backend needs. Raises ToolchainError or
    UnsupportedError."""
    chip = chip_of(request.target)
    if request.adapter not in _CARD:
        return for_cmodel(request.source, chip, request.name, request.symbols, request.flags), CMODEL
    try:
        return for_card(request.source, chip, request.name, request.symbols, request.flags), FIRMWARE
    except ToolchainError as error:
        error.hint = "; ".join(filter(None, (error.hint, _without_card(request.target))))
        raise


def _without_card(target: Target) -> str:
    """A hint how kernels run without the tools for a card."""
    simulator = SimulatorAdapter().available(target)
    need = "" if simulator.present else f", for which {simulator.detail}"
    return f'without a card: execution_backend="sim"{need}'


def version(target: Target) -> str:
    """The versions of the chip's SDK, of the compiler and of tile-tpu's headers."""
    return f"{_sdk(chip_of(target))}, {_compiler()}, headers {_headers()}"


@functools.lru_cache(maxsize=1)
def _headers() -> str:
    """A digest of the files of tile-tpu that are compiled into kernels."""
    digest = hashlib.sha256()
    for path in [*sorted(FOLDER.rglob("*.h")), FRAMES]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sdk(chip: Chip) -> str:
    try:
        return f"SDK {find_cmodel(chip).version or 'of unknown version'}"
    except ToolchainError:
        sdks = search().sdks
        return f"SDK {sdks[0].version or 'of unknown version'}" if sdks else "no SDK"


def _compiler() -> str:
    try:
        return host_compiler().version
    except ToolchainError:
        return "no C compiler"


def find() -> Sequence[Found]:
    """All tools, whether they were found, and what each is needed for."""
    return report.find()


TOOLCHAIN = Toolchain(find=find, build=build, version=version, installable=INSTALLABLE)
