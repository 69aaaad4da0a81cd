"""The target ``metal``: its attributes, capabilities and device. Imports neither TVM nor torch."""

from __future__ import annotations

from tile_metal import families
from tile_metal.modules import MODULES
from tile_metal.options import OPTIONS
from tile_metal.runtime.machine import machine, problem
from tilecore.contract.records import AttributeSpec, Capabilities, Presence, TargetSpec
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.target import Target

DLPACK_METAL = 8
# the element types that the headers define; bfloat16 needs MSL 3.1
DTYPES = (
    "float32 tfloat32 float16 bfloat16 float8_e4m3fn float8_e5m2 float4_e2m1fn float8_e4m3fnuz float8_e5m2fnuz "
    "float8_e8m0fnu "
    "int8 uint8 int16 uint16 int32 uint32 int64 uint64 int4 uint4 bool"
).split()
_FEATURES = frozenset({"atomics", "compare_and_swap", "print", "device_assert", "dynamic_shapes", "source"})


def resolve(target: Target) -> Target:
    """The target with its family and its version of MSL.

    ``auto`` is what the Mac at hand has, apple7 where its GPU does not say (virtual Macs); elsewhere apple7, MSL 3.2,
    which run on every Mac with Apple silicon and macOS 15. Raises TargetError for names that do not exist.
    """
    family, msl = target.get("family", "auto"), target.get("msl", "auto")
    if "auto" in (family, msl):
        mac = machine()
        if family == "auto":
            family = mac.family if mac is not None and mac.family is not None else families.DEFAULT
        if msl == "auto":
            msl = mac.msl if mac is not None else families.DEFAULT_MSL
    return target.with_attributes(family=families.parse(family).name, msl=families.parse_msl(msl))


def family_of(target: Target) -> families.Family:
    """The GPU family of a resolved target."""
    return families.parse(target.get("family", families.DEFAULT))


def msl_of(target: Target) -> int:
    """The version of MSL of a resolved target, as ``__METAL_VERSION__`` gives it: 320."""
    return families.msl_number(families.parse_msl(target.get("msl", families.DEFAULT_MSL)))


def fit(compiled_for: Target, wanted: Target) -> int:
    """How well programs for one resolved target serve another: GPUs run what is for their family or an earlier one, in
    their version of MSL or an earlier one; 0 where they do not, else the nearer the better."""
    family, wanted_family = family_of(compiled_for).number, family_of(wanted).number
    msl, wanted_msl = msl_of(compiled_for), msl_of(wanted)
    if compiled_for.get("index") != wanted.get("index") or family > wanted_family or msl > wanted_msl:
        return 0
    return 1000 * family + msl


def detect() -> Presence:
    """Whether this machine has an Apple GPU, with its name or the reason."""
    mac = machine()
    if mac is None:
        return Presence(False, f"{problem()}; kernels can still be compiled to source")
    name = f"apple{mac.family}" if mac.family is not None else "a virtual GPU"
    return Presence(True, f"{mac.gpu} ({name}), macOS {mac.macos[0]}.{mac.macos[1]}, MSL {mac.msl}")


def capabilities(target: Target) -> Capabilities:
    """The element types, operations, limits and features of a resolved target."""
    msl = msl_of(target)
    dtypes = frozenset(DTYPES) - (set() if msl >= 310 else {"bfloat16"})
    extremes = {"T.atomic_max of uint64", "T.atomic_min of uint64"} if family_of(target).has_ulong_extremes else set()
    return Capabilities(
        dtypes=dtypes,
        scopes=frozenset({"global", "shared", "shared.dyn", "local", "local.fragment", "local.var"}),
        tile_ops=frozenset(TILE_OP_NAMES),
        max_threads=families.MAX_THREADS,
        warp=families.SIMD,
        shared_bytes=families.SHARED_BYTES,
        features=_FEATURES,
        index_bits=64 if target.get("index") == 64 else 32,
        index_hint='compile it with 64-bit indices, which are slower: target="metal -index=64"',
        # others are relaxed ones with fences around, which MSL has from 3.2 on
        atomic_orders=frozenset() if msl >= 320 else frozenset({"relaxed"}),
        atomic_dtypes=dtypes - {"int64", "uint64"} | extremes,
    )


SPEC = TargetSpec(
    kind="metal",
    doc="Apple GPUs from M1 on, by Metal Shading Language that macOS compiles",
    capabilities=capabilities,
    detect=detect,
    resolve=resolve,
    attributes={
        "family": AttributeSpec(
            "the GPU family: apple7 (M1) to apple10 (M5); auto: this machine's", "auto", other_names=("arch",)
        ),
        "msl": AttributeSpec(
            "the version of the Metal Shading Language: 3.0, 3.1, 3.2 or 4.0; auto: the newest that macOS has", "auto"
        ),
        "index": AttributeSpec(
            "the bits of offsets in tensors whose sizes the call gives: 32 (tensors below 2^31 bytes) or 64",
            32,
            (32, 64),
        ),
    },
    aliases={"mps": {}, "apple": {}},
    device=DLPACK_METAL,
    torch_device="mps",
    contract=2,
    options=OPTIONS,
    modules=MODULES,
)
