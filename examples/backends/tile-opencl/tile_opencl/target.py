"""The target ``opencl``: its attributes and capabilities, which are read from the device."""

from __future__ import annotations

from tile_opencl.devices import NoDevice, device, on_cpu, words
from tilecore.contract.records import AttributeSpec, Capabilities, Presence, TargetSpec
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.target import Target

FIRST = "0:0"
# the minimum of OpenCL 1.2's full profile, for which kernels are compiled where there is no device
LEAST = {"threads": 128, "local_bytes": 32768, "extensions": ""}
# the element types that the headers define
DTYPES = (
    "float64 float32 tfloat32 float16 bfloat16 float8_e4m3fn float8_e5m2 float4_e2m1fn float8_e8m0fnu "
    "int8 uint8 int16 uint16 int32 uint32 int64 uint64 int4 uint4 bool"
).split()
EXTENSIONS = ("cl_khr_fp64", "cl_khr_int64_base_atomics")


def resolve(target: Target) -> Target:
    """The target with the limits of the device where the user has set none."""
    try:
        cl_device = device(str(target.get("device")))
        extensions = ",".join(name for name in cl_device.extensions.split() if name in EXTENSIONS)
        limits = {
            "threads": cl_device.max_work_group_size,
            "local_bytes": cl_device.local_mem_size,
            "extensions": extensions,
        }
    except NoDevice:
        limits = LEAST
    return target.with_attributes(**{name: v for name, v in limits.items() if target.get(name) is None})


def has_extension(target: Target, extension: str) -> bool:
    return extension in str(target.get("extensions")).split(",")


def detect() -> Presence:
    """The device. A device that is the host's processor counts as absent, so that "auto" prefers the target cpu."""
    try:
        cl_device = device(FIRST)
        return Presence(
            not on_cpu(cl_device), words(cl_device) + " (this processor, which cpu drives too)" * on_cpu(cl_device)
        )
    except NoDevice as error:
        return Presence(False, f"{error}; kernels can still be compiled to source")


def capabilities(target: Target) -> Capabilities:
    missing = set() if has_extension(target, "cl_khr_fp64") else {"float64"}
    return Capabilities(
        dtypes=frozenset(DTYPES) - missing,
        scopes=frozenset({"global", "shared", "shared.dyn", "local", "local.fragment", "local.var"}),
        tile_ops=frozenset(TILE_OP_NAMES),
        max_threads=int(target.get("threads") or 0),
        shared_bytes=int(target.get("local_bytes") or 0),
        features=frozenset({"atomics", "print", "device_assert", "dynamic_shapes"}),
    )


SPEC = TargetSpec(
    kind="opencl",
    doc="OpenCL devices, by OpenCL C 1.2 that their drivers compile",
    capabilities=capabilities,
    detect=detect,
    resolve=resolve,
    attributes={
        "device": AttributeSpec("the indices of the platform and the device, from 0", FIRST),
        "threads": AttributeSpec("the most threads of a work-group"),
        "local_bytes": AttributeSpec("the local memory of a work-group, in bytes"),
        "extensions": AttributeSpec("the extensions that kernels may use, comma separated: " + ", ".join(EXTENSIONS)),
    },
    contract=2,
    options=(),
)
