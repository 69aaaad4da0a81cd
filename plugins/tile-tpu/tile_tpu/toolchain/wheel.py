"""The vendor's wheel on PyPI: its version, and the files of it that tile-tpu needs.

It is ``tpu_mlir`` 1.30.2 (2-Clause BSD by its metadata), which holds PPL 1.7.111 and the CModels of all chips.
"""

from __future__ import annotations

from tile_tpu.chips import CHIPS
from tilecore.wheels.record import Wheel

NAME, VERSION = "tpu_mlir", "1.30.2"
LICENCE = "2-Clause BSD"

_SDK = "tpu_mlir/cross_toolchains/ppl_compile"
# libdnnl and the libraries that it needs; the wheel's C library must not be loaded into any process
_THIRD_PARTY = ("libdnnl.so.3", "libgomp.so.1", "libomp.so.5")
LIBRARIES = (
    "libtpuv7_rt.so", "libcdm_daemon_emulator.so", "libtpuv7_scalar_emulator.so", "libbmlib.so.0",
    *(chip.device_library for chip in CHIPS.values()), *(f"third_party/{name}" for name in _THIRD_PARTY),
)  # fmt: skip
_FOLDERS = (
    *(f"{_SDK}/deps/chip/{chip.arch}/" for chip in CHIPS.values()), f"{_SDK}/deps/common/dev/",
    f"{_SDK}/deps/runtime/", f"{_SDK}/deps/chip/chip_map.json", f"{_SDK}/version",
)  # fmt: skip


def is_needed(member: str) -> bool:
    """Whether a file of the wheel is unpacked."""
    if member.startswith("tpu_mlir/lib/"):
        return member.removeprefix("tpu_mlir/lib/") in LIBRARIES
    licence = member.startswith(f"{NAME}-{VERSION}.dist-info/") and member.endswith(("LICENSE", "METADATA"))
    return licence or member.startswith(_FOLDERS)


WHEEL = Wheel(
    NAME,
    VERSION,
    file=f"{NAME}-{VERSION}-py3-none-any.whl",
    file_bytes=311_886_106,
    sha256="542807361c9eeb0777a7bd35e501d8c71cce767e4bce021a3cb3a7c25c35f909",
    unpacked_bytes=104_000_000,
    is_needed=is_needed,
    required=tuple(f"tpu_mlir/lib/{name}" for name in LIBRARIES),
    pip_options=("--python-version", "3.10"),
)
FOLDER = WHEEL.folder
