"""What programs import as ``tilecore.metal`` and in modules that all backends share, under TileLang's names.

``MODULES`` is the table for ``TargetSpec.modules``. The modules of this folder are those of ``tilecore.metal``.
"""

from __future__ import annotations

_HERE = "tile_metal.modules"

MODULES = {
    "metal": _HERE,
    "carver.arch.metal": f"{_HERE}.arch",
    "carver.arch.METAL": f"{_HERE}.arch:METAL",
    "carver.arch.is_metal_arch": f"{_HERE}.arch:is_metal_arch",
    "engine.callback.register_metal_postproc": f"{_HERE}.callbacks:register_metal_postproc",
    "engine.callback.register_metal_postproc_callback": f"{_HERE}.callbacks:register_metal_postproc_callback",
    "utils.target.check_metal_availability": f"{_HERE}.target:check_metal_availability",
}
