"""What programs import as ``tilecore.cuda`` and in modules that all backends share, under TileLang's names.

``MODULES`` is the table for ``TargetSpec.modules``. The modules of this folder are those of ``tilecore.cuda``:
``target``, ``language``, ``debug`` and ``intrinsics``; the others are offered one by one.
"""

from __future__ import annotations

_HERE = "tile_cuda.modules"
_ARCH = (
    "CUDA has_mma_support is_ada_arch is_ampere_arch is_cuda_arch is_hopper_arch is_volta_arch "
    "is_tensorcore_supported_precision"
)
_DRIVER = (
    "get_cuda_device_properties get_device_attribute get_device_name get_max_dynamic_shared_size_bytes get_num_sms "
    "get_persisting_l2_cache_max_size get_registers_per_block get_shared_memory_per_block"
)

MODULES = {
    "cuda": _HERE,
    "cuda.language.intrinsics": f"{_HERE}.language_intrinsics",
    "contrib.nvcc": f"{_HERE}.nvcc",
    "contrib.nvrtc": f"{_HERE}.nvrtc",
    "carver.arch.cuda": f"{_HERE}.arch",
    "carver.arch.driver.cuda_driver": f"{_HERE}.cuda_driver",
    "jit.adapter.cutedsl.checks.check_cutedsl_available": "tile_cuda.cutedsl.package:check_available",
    "jit.adapter.nvrtc": f"{_HERE}.nvrtc_adapter",
    "jit.adapter.nvrtc.include_paths.discover_cuda_include_paths": f"{_HERE}.nvcc:discover_cuda_include_paths",
    "engine.callback.register_cuda_postproc": f"{_HERE}.callbacks:register_cuda_postproc",
    "engine.callback.register_cuda_postproc_callback": f"{_HERE}.callbacks:register_cuda_postproc_callback",
    "tools.cuda.iket": f"{_HERE}.iket",
    "utils.target.check_cuda_availability": f"{_HERE}.target:check_cuda_availability",
    **{f"carver.arch.{name}": f"{_HERE}.arch:{name}" for name in _ARCH.split()},
    **{f"carver.arch.driver.{name}": f"{_HERE}.cuda_driver:{name}" for name in _DRIVER.split()},
}
