"""The target ``tpu``: its attributes, its capabilities, and detection of a card. Imports neither TVM nor torch."""

from __future__ import annotations

import os

from tile_tpu.chips import CHIPS, DEFAULT, chip_of, find_chip
from tile_tpu.options import OPTIONS
from tilecore.contract.records import AttributeSpec, Capabilities, Presence, TargetSpec
from tilecore.errors import TargetError
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.target import Target

DLPACK_EXTENSION = 12  # kDLExtDev, what torch's PrivateUse1 devices are
# the element types that the headers define
DTYPES = (
    "float64 float32 tfloat32 float16 bfloat16 float8_e4m3fn float8_e5m2 float4_e2m1fn "
    "int8 uint8 int16 uint16 int32 uint32 int64 uint64 int4 uint4 bool"
).split()
# properties of the tensor unit: inexact functions, no subnormal numbers, no fused multiply-add
_ROUNDING = ("approximate_math", "flushes_subnormals", "unfused_multiply_add")
_FEATURES = ("atomics", "print", "device_assert", "dynamic_shapes", *_ROUNDING)
_WITHOUT = "kernels run on tile-tpu's simulator"
CHIP_VARIABLE = "CHIP"  # of the vendor's SDK


def resolve(target: Target) -> Target:
    """Fills in the attributes. Without ``-chip`` it is that of the vendor's variable CHIP, else the default chip.
    ``-cores=0`` becomes all cores of the chip."""
    named = os.environ.get(CHIP_VARIABLE, "").strip()
    if named and named.lower() not in CHIPS and not target.get("chip"):
        raise TargetError(
            f"the environment variable {CHIP_VARIABLE} names a chip that tile-tpu does not support",
            found=f"{CHIP_VARIABLE}={named}",
            expected=", ".join(CHIPS), hint=f'name one in the target, such as "tpu -chip={DEFAULT}", or unset it',
        )  # fmt: skip
    chip = find_chip(str(target.get("chip") or named or DEFAULT))
    cores = int(target.get("cores") or 0) or chip.cores
    if not 1 <= cores <= chip.cores:
        raise TargetError(f"{chip.name} does not have {cores} cores", expected=f"1 to {chip.cores}; 0: all of them")
    return target.with_attributes(chip=chip.name, cores=cores)


def detect() -> Presence:
    from tile_tpu.card.board import cards
    from tile_tpu.runtimes.records import RuntimeFailure

    try:
        count = cards()
    except RuntimeFailure as failure:
        return Presence(False, f"no card: {failure}; {_WITHOUT}")
    return Presence(True, f"{count} card{'s' * (count != 1)}") if count else Presence(False, f"no card; {_WITHOUT}")


def capabilities(target: Target) -> Capabilities:
    chip = chip_of(target)
    return Capabilities(
        dtypes=frozenset(DTYPES),
        scopes=frozenset({"global", "shared", "shared.dyn", "local", "local.fragment", "local.var"}),
        tile_ops=frozenset(TILE_OP_NAMES) - {"shuffle", "ballot"},
        shared_bytes=chip.lanes * chip.lane_bytes,
        features=frozenset(_FEATURES),
    )


SPEC = TargetSpec(
    kind="tpu",
    doc="SophGo's tensor processors, by C for the vendor's tpu_kernel.h",
    capabilities=capabilities,
    detect=detect,
    resolve=resolve,
    attributes={
        "chip": AttributeSpec(
            f"chip to compile for; default: that of the variable {CHIP_VARIABLE}, else {DEFAULT}", None, tuple(CHIPS)
        ),
        "cores": AttributeSpec("cores that a launch uses; 0: all of the chip", 0),
    },
    aliases={"sophgo": {}, **{name: {"chip": name} for name in CHIPS}},
    device=DLPACK_EXTENSION,
    torch_device="tpu",
    contract=2,
    options=OPTIONS,
)
