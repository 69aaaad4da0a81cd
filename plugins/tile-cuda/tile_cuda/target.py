"""The target ``cuda``: its attributes, capabilities and devices. Imports neither TVM nor torch."""

from __future__ import annotations

from tile_cuda import architectures
from tile_cuda.cutedsl.names import LANGUAGE, TYPES
from tile_cuda.devices import first_device, visible_devices
from tile_cuda.language import NAMES
from tile_cuda.language.architectures_of_names import refused_names
from tile_cuda.language.refused_names import REFUSED
from tile_cuda.modules import MODULES
from tile_cuda.options import OPTIONS
from tilecore.contract.records import AttributeSpec, Capabilities, Presence, TargetSpec
from tilecore.errors import TargetError
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.target import Target

DLPACK_CUDA = 2
# the element types that the headers define
DTYPES = (
    "float64 float32 tfloat32 float16 bfloat16 float8_e4m3fn float8_e5m2 float4_e2m1fn "
    "float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu "
    "int8 uint8 int16 uint16 int32 uint32 int64 uint64 int4 uint4 bool"
).split()

CPP = "c++"  # the usual value of the attribute "language"
# features of the architectures and of CUDA C++ that kernels in CuTe DSL do not have
_NOT_IN_CUTEDSL = frozenset(
    "wgmma transaction_barriers bulk_copy clusters programmatic_launch l2_policies fp8_mma print device_assert "
    "source pointers dynamic_shared".split()
)
_FEATURES = frozenset(
    (
        "atomics compare_and_swap print device_assert dynamic_shapes dynamic_shared pointers source directed_rounding"
    ).split()
)
# what the compiler of CuTe DSL has: integers of 32 and 64 bits have all atomic operations, floats additions
_ATOMIC_FLOATS = ("float64", "float32", "float16", "bfloat16")
_ATOMICS_IN_CUTEDSL = frozenset(
    ["int32", "uint32", "int64", "uint64"]
    + [f"T.{name} of {dtype}" for name in ("atomic_add", "atomic_addx2", "atomic_addx4") for dtype in _ATOMIC_FLOATS]
    + [
        f"T.{name} of {dtype}"
        for name in ("atomic_load", "atomic_store")
        for dtype in (*_ATOMIC_FLOATS, "int16", "uint16")
    ]
)


def resolve(target: Target) -> Target:
    """The target with the canonical name of its architecture.

    ``auto`` is the architecture of the first device, or sm_80 where there is no device. Raises TargetError for an
    unknown architecture, or for more registers than a thread can have.
    """
    arch_name = target.get("arch", "auto")
    if arch_name == "auto":
        device, _ = first_device()
        arch = (
            architectures.parse(architectures.DEFAULT)
            if device is None
            else architectures.of_device(*device.capability)
        )
    else:
        arch = architectures.parse(arch_name)
    registers = int(target.get("max_registers") or 0)
    if not 0 <= registers <= architectures.MAX_REGISTERS:
        raise TargetError(
            f"max_registers is {registers}", expected=f"0 (the compiler chooses) to {architectures.MAX_REGISTERS}"
        )
    return target.with_attributes(arch=arch.name, max_registers=registers)


def architecture_of(target: Target) -> architectures.Architecture:
    """The architecture of a resolved target."""
    return architectures.parse(target.get("arch", architectures.DEFAULT))


def multiprocessors_of(target: Target) -> int:
    """The number of multiprocessors that persistent kernels are compiled for."""
    return int(target.get("multiprocessors") or 0) or architecture_of(target).multiprocessors


def detect() -> Presence:
    """Whether this machine has an NVIDIA GPU, with the names of its GPUs or the reason."""
    devices, reason = visible_devices()
    if not devices:
        return Presence(False, f"there is no NVIDIA GPU: {reason}; kernels can still be compiled, with -arch=...")
    names = [f"{d.name} (sm_{d.capability[0]}{d.capability[1]})" for d in devices]
    return Presence(True, ", ".join(dict.fromkeys(names)) + (f", {len(devices)} devices" if len(devices) > 1 else ""))


def refused_on(target: Target) -> dict[str, tuple[str, str]]:
    """The names of the language that kernels for a resolved target cannot use, with (why, what to write instead)."""
    return refused_names(architecture_of(target), target.get("language"))


def capabilities(target: Target) -> Capabilities:
    """The element types, operations, limits and features of a resolved target."""
    arch = architecture_of(target)
    features = _FEATURES | arch.features()
    dtypes = frozenset(DTYPES)
    atomic_dtypes: frozenset[str] = frozenset()
    if target.get("language") == LANGUAGE:
        features -= _NOT_IN_CUTEDSL
        dtypes &= frozenset(TYPES)
        atomic_dtypes = _ATOMICS_IN_CUTEDSL
    return Capabilities(
        dtypes=dtypes,
        scopes=frozenset({"global", "shared", "shared.dyn", "local", "local.fragment", "local.var"}),
        tile_ops=frozenset(TILE_OP_NAMES),
        max_threads=architectures.MAX_THREADS,
        warp=architectures.WARP,
        shared_bytes=arch.shared_bytes,
        features=features,
        atomic_dtypes=atomic_dtypes,
        thread_bytes=architectures.THREAD_BYTES,
    )


SPEC = TargetSpec(
    kind="cuda",
    doc="NVIDIA GPUs from sm_70 on, by CUDA C++ that NVRTC or nvcc compiles",
    capabilities=capabilities,
    detect=detect,
    resolve=resolve,
    attributes={
        "arch": AttributeSpec("the architecture to compile for: sm_80, sm_90a, ...; auto: the first device's", "auto"),
        "multiprocessors": AttributeSpec("the multiprocessors that persistent kernels use; 0: the usual number", 0),
        "max_registers": AttributeSpec("the most registers of a thread; 0: the compiler's choice", 0),
        "language": AttributeSpec(
            "what kernels may use; c++: all that is emitted as CUDA C++; cutedsl: what the execution backend cutedsl "
            "emits in CuTe DSL",
            CPP,
            (CPP, LANGUAGE),
        ),
    },
    aliases={"nvidia": {}, LANGUAGE: {"language": LANGUAGE}},
    device=DLPACK_CUDA,
    torch_device="cuda",
    language=NAMES,
    contract=2,
    options=OPTIONS,
    modules=MODULES,
    refused_names=lambda target: REFUSED if target is None else refused_on(target),
)
