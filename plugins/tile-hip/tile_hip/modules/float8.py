"""The 8-bit floats of AMD's matrix instructions."""

from __future__ import annotations

from tile_hip.target import architecture_of
from tilecore.dtypes import dtype as DType
from tilecore.language import float8
from tilecore.plugins import manager

_UNSIGNED_ZERO = {"e4m3": "float8_e4m3fnuz", "e5m2": "float8_e5m2fnuz"}


def determine_fp8_type(fp8_format: str = "e4m3") -> DType:
    """The type that the chip multiplies: of gfx942 those with an unsigned zero (CDNA 3 ISA, "FP8 and BF8"), of gfx950
    and RDNA 4 those of the OCP specification. Raises LanguageError for another format than "e4m3" and "e5m2"."""
    _, default = manager.resolve("auto")
    target = default if default.kind == "hip" else manager.resolve("hip")[1]
    if architecture_of(target).name == "gfx942":
        return DType(_UNSIGNED_ZERO[float8.checked_format(fp8_format)])
    return float8.determine_fp8_type(fp8_format)
