"""``tilecore.carver.arch.cuda``: the figures of a GPU for programs that choose tile sizes by them."""

from __future__ import annotations

import re
from typing import Any

from tile_cuda.architectures import Architecture
from tile_cuda.cluster_parts import number_of_parts
from tile_cuda.modules.cuda_driver import get_cuda_device_properties
from tile_cuda.target import architecture_of, multiprocessors_of
from tilecore.profiler.tile_device import TileDevice, checked_kind

_NAME = re.compile(r"(?:sm_)?(\d+)[a-z]*", re.IGNORECASE)
_REGISTERS = 65536  # of a multiprocessor and of a block (CUDA C++ Programming Guide, "Compute Capabilities")
_LANES = {70: 64, 75: 64, 80: 64}  # float32 operations of a multiprocessor in a cycle, ibid.; 128 of the others
# Operations of a multiprocessor's matrix units in a cycle, by element type: the architectures' white papers, dense.
_MATRIX_OPS = {
    75: {"float16": 1024},
    80: {"float16": 2048, "bfloat16": 2048, "tfloat32": 1024, "int8": 4096},
    86: {"float16": 1024, "bfloat16": 1024, "tfloat32": 512, "int8": 2048},
    89: {"float16": 1024, "bfloat16": 1024, "tfloat32": 512, "int8": 2048, "float8_e4m3fn": 2048, "float8_e5m2": 2048},
    90: {"float16": 4096, "bfloat16": 4096, "tfloat32": 2048, "int8": 8192, "float8_e4m3fn": 8192, "float8_e5m2": 8192},
}
_WARP_GROUP, _WARPGROUP_GROUP = (32, 16, 64), (128, 64, 256)  # of mma.sync and of wgmma: threads, rows, most columns
_NOT_ALL = 0.62  # of wgmma's operations that mma.sync does on sm_90 (docs/notes/gpu.md)
_SHARED_OF_CORE = {70: 96, 75: 64, 80: 164, 86: 100, 87: 164, 88: 100, 89: 100, 120: 100, 121: 100}  # KiB; else 228
_RESERVED = 1024  # bytes of shared memory of a block, from sm_80 on (ibid.)
# compute capability: (GHz, global memory in GB/s, its latency in us) of the largest usual device
_USUAL = {70: (1.4, 800, 0.5), 75: (1.5, 290, 0.5), 80: (1.3, 1750, 0.6), 86: (1.6, 800, 0.6), 89: (2.2, 900, 0.6)}
_LATER = (1.75, 4200, 0.5)  # an H200 (docs/notes/hopper.md)
_L2_FACTOR = 2.5  # of the bandwidth of global memory
_LAUNCH = 4.5  # microseconds from one kernel's end to the end of an empty one behind it
_SUPPORTED = {  # compute capability: (element type of A and B, of the sum) that matrix instructions multiply
    70: {("float16", "float32"), ("float16", "float16")},
    80: {("bfloat16", "float32"), ("int8", "int32"), ("int4", "int32")},
    89: {("float8_e4m3", "float32"), ("float8_e5m2", "float32")},
}


class CUDA(TileDevice):
    """The figures of a target of kind ``cuda``; those of the first device where it has the target's architecture.

    sm_version: the compute capability, 90 for sm_90. peak_tflops: of float32 without matrix instructions; None without
    a device.
    """

    def __init__(self, target: Any = "cuda") -> None:
        super().__init__(checked_kind(target, "cuda", "CUDA"))
        architecture = architecture_of(self.target)
        self.sm_version = architecture.capability
        self.compute_capability = str(architecture.capability)
        self.compute_max_core = multiprocessors_of(self.target)
        self.reg_cap, self.sm_partition, self.transaction_size = _REGISTERS, 4, [32, 128]
        self.peak_tflops: float | None = None
        device = get_cuda_device_properties()
        if device is not None and 10 * device.major + device.minor == self.sm_version:
            self.name = device.name
            self.compute_max_core = device.multiProcessorCount
            self.l2_cache_size_bytes = device.l2CacheSize
            chip = 2 * device.memoryClockRate * device.memoryBusWidth // 8 // 1000  # both edges of the clock; MB/s
            self.bandwidth = [chip // device.multiProcessorCount, chip]
            lanes = _LANES.get(self.sm_version, 128) * device.multiProcessorCount
            self.peak_tflops = round(2 * lanes * device.clockRate * 1e3 / 1e12, 1)
        self._set_speeds(architecture)

    def _set_speeds(self, architecture: Architecture) -> None:
        """The figures that proposals are made by: of the architecture, not of the device, so that every machine that
        compiles for it makes the same ones."""
        version, has_wgmma = architecture.capability, "wgmma" in architecture.features()
        rates = _MATRIX_OPS[max((n for n in _MATRIX_OPS if n <= version), default=75)] if version >= 75 else {}
        share = _NOT_ALL if version >= 90 and not has_wgmma else 1.0
        self.matrix_ops = {name: int(ops * share) for name, ops in rates.items()}
        self.matrix_group = _WARPGROUP_GROUP if has_wgmma else _WARP_GROUP
        self.vector_ops = 2 * _LANES.get(version, 128)
        self.smem_of_core = _SHARED_OF_CORE.get(version, 228) << 10
        self.smem_reserved = _RESERVED if version >= 80 else 0
        self.clock, gigabytes, self.latency = _USUAL.get(version, _LATER)
        self.copy_bandwidth = gigabytes * 1000
        self.l2_bandwidth = int(_L2_FACTOR * gigabytes * 1000)
        self.launch_time = _LAUNCH
        self._shares_loops = has_wgmma

    def loop_parts(self, blocks: int, iterations: int) -> int:
        return number_of_parts(blocks, multiprocessors_of(self.target), iterations) if self._shares_loops else 1

    def get_avaliable_tensorintrin_shapes(self) -> list[list[int]]:
        return [[16, 8], [16, 16]] if has_mma_support(self) else []


def check_sm_version(arch: str) -> int:
    """90 for "sm_90" and "sm_90a"; -1 for what is no name of an NVIDIA architecture."""
    match = _NAME.fullmatch(str(arch))
    return int(match[1]) if match else -1


def _version(arch: TileDevice) -> int:
    return arch.sm_version if isinstance(arch, CUDA) else 0


def is_cuda_arch(arch: TileDevice) -> bool:
    return isinstance(arch, CUDA)


def is_volta_arch(arch: TileDevice) -> bool:
    """sm_70 to sm_75."""
    return 70 <= _version(arch) < 80


def is_ampere_arch(arch: TileDevice) -> bool:
    """sm_80 to sm_88."""
    return 80 <= _version(arch) < 89


def is_ada_arch(arch: TileDevice) -> bool:
    return _version(arch) == 89


def is_hopper_arch(arch: TileDevice) -> bool:
    return _version(arch) == 90


def has_mma_support(arch: TileDevice) -> bool:
    """Whether the chip has matrix instructions of a warp that tilecore uses: of 16 rows and 16-bit floats: from
    sm_80 on."""
    return _version(arch) >= 80


def is_tensorcore_supported_precision(in_dtype: str, accum_dtype: str, arch: TileDevice) -> bool:
    """Whether the chip's matrix instructions multiply these element types into this one."""
    return any(
        (str(in_dtype), str(accum_dtype)) in pairs for least, pairs in _SUPPORTED.items() if _version(arch) >= least
    )
