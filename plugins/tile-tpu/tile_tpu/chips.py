"""The chips: one frozen record for each, with its sizes, shapes, addresses and clocks.

Sizes, shapes and addresses are those that the vendor's CModel returns from ``tpu_npu_num()``, ``tpu_bank_num()``,
``tpu_eu_num()``, ``tpu_cube_shape()``, ``tpu_l2_sram_size()`` and so on (PPL 1.7.111). Clocks and bandwidths are those
of the vendor's profiler (``tpu_mlir/python/profile_helper/<chip>_defs.py``), which has none for the memory of BM1684X
and for SG2260E (see the comments on their records).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.errors import TargetError
from tilecore.target import Target

DEFAULT = "bm1690"


@dataclass(frozen=True)
class Chip:
    """One chip.

    arch: the vendor's code of the architecture, the name of its folder in the SDK.
    cores: the tensor processors that one launch may use. lanes: the lanes ("NPU"s) of a core, each with its own memory.
    lane_bytes: the local memory of a lane. banks: the equal banks into which it is divided.
    eu_bytes: the bytes that a lane processes in one cycle; also the alignment of addresses and channels.
    cube_rows, cube_columns: the outputs that a matrix instruction computes at once: one row in each lane, and
    ``cube_columns`` columns. cube_depth: {bits of an input: products that one output accumulates in a cycle}.
    has_cube_shape: ``tpu_cube_shape`` exists. has_fp8: the tensor unit supports e4m3 and e5m2. mixed_selects: a select
    may compare elements of another width than the elements that it chooses.
    l2_base, l2_bytes: the address window of the SRAM that all cores share. global_base: the first address of DDR.
    static_bytes: the size of the memory with the coefficient tables of the chip's functions.
    defines: the macros that the vendor's headers need for the chip. runtime: the runtime that launches kernels, "tpurt"
    or "bmlib".
    vector_mhz, dma_mhz: the clocks of the tensor unit and of DMA. ddr_gb_per_s: the bandwidth of one core to DDR, in
    10**9 bytes per second. l2_gb_per_s: the bandwidth between a core and L2. beat_bytes: the bytes that the bus moves
    in one DMA cycle. device_library: the name of the library of the vendor's CModel.
    """

    name: str
    arch: str
    cores: int
    lanes: int
    lane_bytes: int
    banks: int
    eu_bytes: int
    cube_columns: int
    cube_depth: tuple[tuple[int, int], ...]
    has_cube_shape: bool
    has_fp8: bool
    mixed_selects: bool
    l2_base: int
    l2_bytes: int
    global_base: int
    static_bytes: int
    defines: tuple[str, ...]
    runtime: str
    vector_mhz: int
    dma_mhz: int
    ddr_gb_per_s: float
    l2_gb_per_s: float
    beat_bytes: int
    device_library: str

    @property
    def bank_bytes(self) -> int:
        """The bytes of one bank of a lane."""
        return self.lane_bytes // self.banks

    def lacks(self, dtype: str) -> bool:
        """Whether the tensor unit of this chip can move elements of this type, but not compute with them."""
        return not self.has_fp8 and dtype.startswith("float8")

    @property
    def launch_cores(self) -> int:
        """The cores that one launch of a kernel runs on; bmlib's ``tpu_kernel_launch`` runs on one."""
        return self.cores if self.runtime == "tpurt" else 1

    @property
    def cube_rows(self) -> int:
        return self.lanes

    @property
    def depth_of(self) -> dict[int, int]:
        """``cube_depth`` as a dictionary: 32, 16 and 8 bits."""
        return dict(self.cube_depth)

    def eu_count(self, bits: int) -> int:
        """The elements of ``bits`` (8, 16, 32; 4 counts as 8) that a lane processes in one cycle: ``tpu_eu_num``."""
        return self.eu_bytes * 8 // max(bits, 8)


_BIG: dict[str, Any] = {
    "lanes": 64,
    "lane_bytes": 262144,
    "banks": 16,
    "eu_bytes": 64,
    "cube_columns": 4,
    "static_bytes": 65536,
}
_NEWER: dict[str, bool] = {"has_fp8": True, "mixed_selects": True}
_OLDER: dict[str, bool] = {"has_fp8": False, "mixed_selects": False}
_DEPTH_64 = ((32, 1), (16, 32), (8, 64))

BM1690 = Chip(
    "bm1690", "tpub_7_1", cores=8, **_BIG, cube_depth=_DEPTH_64, has_cube_shape=True, **_NEWER,
    l2_base=0x1E6980000000, l2_bytes=0xF00000, global_base=0, defines=("__sg2260__", "__tpub_7_1__"), runtime="tpurt",
    vector_mhz=1000, dma_mhz=1000, ddr_gb_per_s=68.264, l2_gb_per_s=128.0, beat_bytes=128,
    device_library="libtpuv7_emulator.so",
)  # fmt: skip
# the profiler has no record for this chip, so clocks and bandwidths are those of BM1690
SG2260E = Chip(
    "sg2260e", "tpub_7_1_e", cores=4, **_BIG, cube_depth=_DEPTH_64, has_cube_shape=True, **_NEWER,
    l2_base=0x1E6980000000, l2_bytes=0x3C0000, global_base=0, defines=("__sg2260e__", "__tpub_7_1_e__"),
    runtime="tpurt", vector_mhz=1000, dma_mhz=1000, ddr_gb_per_s=68.264, l2_gb_per_s=128.0, beat_bytes=128,
    device_library="libtpuv7.1_emulator.so",
)  # fmt: skip
# the profiler has no memory bandwidth for this chip; the data sheet says LPDDR4X-4266 on 128 bits, 68.3 GB/s, one core
BM1684X = Chip(
    "bm1684x", "tpu_6_0", cores=1, **_BIG, cube_depth=_DEPTH_64, has_cube_shape=False, **_OLDER,
    l2_base=0x10000000, l2_bytes=0x1FB000, global_base=0x100000000, defines=("__bm1684x__",), runtime="bmlib",
    vector_mhz=1000, dma_mhz=1000, ddr_gb_per_s=68.264, l2_gb_per_s=128.0, beat_bytes=128,
    device_library="libcmodel_bm1684x.so",
)  # fmt: skip
BM1688 = Chip(
    "bm1688", "tpul_6_0", cores=2, lanes=32, lane_bytes=131072, banks=16, eu_bytes=16, cube_columns=4,
    static_bytes=65536, cube_depth=((32, 1), (16, 16), (8, 32)), has_cube_shape=False, **_OLDER,
    l2_base=0x101000000, l2_bytes=0x200000, global_base=0x100000000, defines=("__bm1688__",), runtime="bmlib",
    vector_mhz=900, dma_mhz=750, ddr_gb_per_s=32.0, l2_gb_per_s=48.0, beat_bytes=64,
    device_library="libcmodel_bm1688.so",
)  # fmt: skip

CHIPS: dict[str, Chip] = {chip.name: chip for chip in (BM1690, SG2260E, BM1684X, BM1688)}


def find_chip(name: str) -> Chip:
    """The chip called ``name``. Raises TargetError, which lists the supported names."""
    chip = CHIPS.get(name.lower())
    if chip is None:
        raise TargetError(
            f"tile-tpu does not support the chip {name!r}",
            found=name,
            expected=", ".join(CHIPS),
            hint=f'write target="tpu -chip={DEFAULT}"',
        )
    return chip


def chip_of(target: Target) -> Chip:
    """The chip that a target names."""
    return find_chip(str(target.get("chip", DEFAULT)))
