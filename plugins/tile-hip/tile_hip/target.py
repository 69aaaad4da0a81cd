"""The target ``hip``: its attributes, capabilities and devices. Imports neither TVM nor torch."""

from __future__ import annotations

from tile_hip import architectures
from tile_hip.devices import visible_devices
from tile_hip.modules import MODULES
from tile_hip.options import OPTIONS
from tilecore.contract.records import AttributeSpec, Capabilities, Presence, TargetSpec
from tilecore.errors import TargetError
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.target import Target

DLPACK_ROCM = 10
# the element types that the headers define
DTYPES = (
    "float64 float32 tfloat32 float16 bfloat16 float8_e4m3fn float8_e5m2 float4_e2m1fn "
    "float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu "
    "int8 uint8 int16 uint16 int32 uint32 int64 uint64 int4 uint4 bool"
).split()
_FEATURES = frozenset(
    (
        "atomics compare_and_swap print device_assert dynamic_shapes dynamic_shared pointers source directed_rounding"
    ).split()
)


def resolve(target: Target) -> Target:
    """The target with the name of its architecture and the width of its waves.

    ``auto`` is the architecture of the first device, or gfx942 where there is no device. Raises TargetError for an
    unknown architecture, or a width that its waves cannot have.
    """
    name = target.get("arch", "auto")
    if name == "auto":
        name = _first_device()
    architecture = architectures.parse(name)
    wave = int(target.get("wave") or 0) or architecture.waves[0]
    if wave not in architecture.waves:
        raise TargetError(
            f"waves of {architecture.name} cannot have {wave} lanes",
            expected=" or ".join(map(str, architecture.waves)),
        )
    return target.with_attributes(arch=architecture.name, wave=wave)


def _first_device() -> str:
    """The architecture of the first device, or the default one. Raises TargetError if that device is not supported."""
    devices, _ = visible_devices()
    if not devices:
        return architectures.DEFAULT
    if devices[0].arch not in architectures.ARCHITECTURES:
        raise TargetError(
            f"tile-hip does not support the first GPU of this machine, {devices[0].arch}",
            found="GPUs: " + ", ".join(device.arch for device in devices),
            expected=", ".join(architectures.ARCHITECTURES),
            hint="HIP_VISIBLE_DEVICES chooses another GPU; -arch=... compiles for a chip without using it",
        )
    return devices[0].arch


def architecture_of(target: Target) -> architectures.Architecture:
    """The architecture of a resolved target."""
    return architectures.parse(target.get("arch", architectures.DEFAULT))


def wave_of(target: Target) -> int:
    """The number of lanes of a wave on a resolved target."""
    return int(target.get("wave") or 0) or architecture_of(target).waves[0]


def detect() -> Presence:
    """Whether this machine has an AMD GPU, with the architectures of its GPUs or the reason."""
    devices, reason = visible_devices()
    if not devices:
        return Presence(False, f"there is no AMD GPU: {reason}; kernels can still be compiled, with -arch=...")
    names = ", ".join(dict.fromkeys(f"{device.arch} ({device.units} units)" for device in devices))
    return Presence(True, names + (f", {len(devices)} devices" if len(devices) > 1 else ""))


def capabilities(target: Target) -> Capabilities:
    """The element types, operations, limits and features of a resolved target."""
    return Capabilities(
        dtypes=frozenset(DTYPES),
        scopes=frozenset({"global", "shared", "shared.dyn", "local", "local.fragment", "local.var"}),
        tile_ops=frozenset(TILE_OP_NAMES),
        max_threads=architectures.MAX_THREADS,
        warp=wave_of(target),
        shared_bytes=architecture_of(target).shared_bytes,
        features=_FEATURES | ({"copy_async"} if architecture_of(target).name == "gfx950" else set()),
    )


SPEC = TargetSpec(
    kind="hip",
    doc="AMD GPUs of CDNA 2 to 4 and RDNA 3 and 4, by HIP C++ that clang compiles",
    capabilities=capabilities,
    detect=detect,
    resolve=resolve,
    attributes={
        "arch": AttributeSpec(
            "the architecture to compile for: gfx90a, gfx942, gfx1100, ...; auto: the first device's", "auto",
            other_names=("mcpu",),
        ),
        "wave": AttributeSpec("the lanes of a wave, on RDNA 32 or 64; 0: the usual number", 0),
    },
    aliases={"rocm": {}, "amd": {}},
    device=DLPACK_ROCM,
    torch_device="cuda",
    contract=2,
    options=OPTIONS,
    modules=MODULES,
)  # fmt: skip
