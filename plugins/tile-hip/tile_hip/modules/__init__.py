"""What programs import as ``tilecore.rocm`` and in modules that all backends share, under TileLang's names.

``MODULES`` is the table for ``TargetSpec.modules``. The modules of this folder are those of ``tilecore.rocm``:
``target``, ``language`` and ``intrinsics``; the others are offered one by one.
"""

from __future__ import annotations

_HERE = "tile_hip.modules"

MODULES = {
    "rocm": _HERE,
    "hip": _HERE,
    "carver.arch.cdna": f"{_HERE}.arch",
    "carver.arch.rdna": f"{_HERE}.arch",
    "carver.arch.driver.get_num_sms": f"{_HERE}.arch:get_num_sms",
    "engine.callback.register_hip_postproc": f"{_HERE}.callbacks:register_hip_postproc",
    "engine.callback.register_hip_postproc_callback": f"{_HERE}.callbacks:register_hip_postproc_callback",
    "language.fp8.determine_fp8_type": f"{_HERE}.float8:determine_fp8_type",
    "utils.target.check_hip_availability": f"{_HERE}.target:check_hip_availability",
    **{f"carver.arch.{name}": f"{_HERE}.arch:{name}" for name in ("CDNA", "RDNA", "is_cdna_arch", "is_rdna_arch")},
}
