"""The target ``cpu``: what the host's processor offers, read without TVM."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection
from typing import Any

from tilecore.backends.cpu import host_processor, systems
from tilecore.backends.cpu.amx_permission import may_use_tiles
from tilecore.backends.cpu.extensions import EXTENSIONS, TILE_FEATURES, extensions_in, vector_bits
from tilecore.backends.cpu.processors import (
    SLOW_BFLOAT16_DOTS,
    SLOW_BFLOAT16_VENDORS,
    WIDE_TILES,
    WIDE_TILES_VENDORS,
    features_of,
)
from tilecore.contract.records import AttributeSpec, Capabilities, PassOption, Presence, TargetSpec
from tilecore.dtypes import FACTS
from tilecore.errors import TargetError
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.nearest import nearest
from tilecore.target import Target
from tilecore.transform import PassConfigKey


def _extensions() -> frozenset[str]:
    """The extensions that the processor has, whether this process may use them or not."""
    if systems.host_machine() != systems.X86_64:
        return frozenset()
    return extensions_in(host_processor.fields().get("flags", ""))


def host_features() -> tuple[str, ...]:
    """The extensions that this process may use, in LLVM's spelling, sorted."""
    present = set(_extensions())
    if present & TILE_FEATURES and not may_use_tiles():
        present -= TILE_FEATURES
    return tuple(sorted(present))


def lacks_permission(features: Collection[str]) -> bool:
    """Does the processor have these extensions, and does only the system's permission to use them lack?"""
    return TILE_FEATURES.issuperset(features) and _extensions().issuperset(features)


def host_model() -> str:
    """A name for the processor's kind; it goes into cache keys, as the code is made for it."""
    info = host_processor.fields()
    words = [info.get(k, "") for k in ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")]
    text = "-".join(w.replace(" ", "_") for w in words if w)
    return text or platform.machine() or "unknown"


def host_cache_bytes() -> int:
    """Size of the largest cache, 0 where the system does not say. At most 64 MiB, so that few sizes occur in keys."""
    return min(host_processor.cache_bytes(), 64 << 20)


def resolve(target: Target) -> Target:
    """``-march=native`` becomes the machine's own facts; ``-march=generic`` the least that every machine has, another
    name what that processor has. Raises TargetError for a processor that is not known."""
    attributes = dict(target.attributes)
    _resolve_system(attributes)
    if attributes.get("march", "native") == "native":
        features = tuple(str(attributes.get("features") or ",".join(host_features())).split(","))
        attributes.setdefault("model", host_model())
        attributes.setdefault("cache_bytes", host_cache_bytes())
    else:
        has = features_of(str(attributes["march"]))
        features = tuple(str(attributes.get("features") or ",".join(has)).split(","))
        attributes.setdefault("model", str(attributes["march"]))
        attributes.setdefault("cache_bytes", 0)
    features = tuple(sorted({f for f in features if f}))
    _check_features(features, systems.machine_of_processor(str(attributes.get("march") or "native")))
    by_dots = "avx512bf16" in features and not _is_of(
        str(attributes["model"]), SLOW_BFLOAT16_DOTS, SLOW_BFLOAT16_VENDORS
    )
    attributes.setdefault("bfloat16", "dots" if by_dots else "widened")
    if attributes["bfloat16"] == "dots" and "avx512bf16" not in features:
        raise TargetError(
            "the processor has no dot products of bfloat16",
            found=f"-bfloat16=dots, and -features={','.join(features)}",
            expected="-bfloat16=widened, or the extension avx512bf16",
        )
    if not str(attributes["cache_bytes"]).isdigit():
        raise TargetError(
            "the size of the cache is no number of bytes",
            found=f"-cache_bytes={attributes['cache_bytes']}",
            expected="a number of bytes, 0 for none",
        )
    attributes["features"] = ",".join(features)
    attributes.setdefault("vector_bits", vector_bits(features))
    wide = int(attributes["vector_bits"]) >= 512 and _is_of(str(attributes["model"]), WIDE_TILES, WIDE_TILES_VENDORS)
    attributes.setdefault("tile_vectors", 4 if wide else 2)
    attributes.setdefault("march", "native")
    return Target(target.kind, {k: v for k, v in attributes.items() if v is not None})


def _resolve_system(attributes: dict[str, Any]) -> None:
    """Sets ``system``, by default to this machine's. Raises TargetError for a system that has no kernels for the
    processor, and where the processor of another system than this is not named."""
    march = str(attributes.get("march") or "native")
    here = systems.host_system() if systems.host_system() in systems.SYSTEMS else systems.LINUX
    system = attributes["system"] = str(attributes.get("system") or here)
    if system != here and march == "native":
        raise TargetError(
            f"-march=native is this machine's processor, and kernels for {system} do not run on it",
            found=f"-system={system} on {here}",
            expected="a processor by its name",
            hint="such as -march=x86-64-v3 or -march=armv8-a",
        )
    systems.require_known(system, systems.machine_of_processor(march))


def _check_features(features: tuple[str, ...], machine: str) -> None:
    if features and machine == systems.AARCH64:
        raise TargetError(
            "the extensions of target cpu are those of x86-64",
            found=f"-features={','.join(features)} for {machine}",
            expected="no features: vectors of 128 bits need none",
        )
    known = sorted(name for name, _ in EXTENSIONS.values())
    for feature in features:
        if feature not in known:
            close = nearest(feature, known)
            raise TargetError(
                f"the extension {feature!r} is not known",
                found=f"-features={','.join(features)}",
                expected=f"{close!r}, or another of {', '.join(known)}" if close else ", ".join(known),
            )


def _is_of(model: str, names: Collection[str], vendors: Collection[str]) -> bool:
    """Is the processor's kind one of LLVM's ``names``, or, as :func:`host_model` gives it, of one of ``vendors``?"""
    return model in names or model.partition("-")[0] in vendors


def features_in(target: Target) -> frozenset[str]:
    """The extensions that kernels for a resolved target use, in LLVM's spelling."""
    return frozenset(feature for feature in str(target.get("features") or "").split(",") if feature)


def is_intels(target: Target) -> bool:
    """Is the processor one of Intel's with AVX-512, as far as the target says?"""
    return _is_of(str(target.get("model", "")), WIDE_TILES, WIDE_TILES_VENDORS)


def host_name() -> str:
    """The processor as its maker calls it."""
    return host_processor.fields().get("model name") or platform.processor() or platform.machine()


def detect() -> Presence:
    """The host is always there."""
    return Presence(True, f"{host_name()}, {os.cpu_count()} cores, {vector_bits(host_features())}-bit vectors")


def capabilities(target: Target) -> Capabilities:
    return Capabilities(
        dtypes=frozenset(FACTS),
        scopes=frozenset({"global", "shared", "shared.dyn", "local", "local.fragment", "local.var"}),
        tile_ops=frozenset(TILE_OP_NAMES) - {"shuffle", "ballot"},
        features=frozenset(
            (
                "atomics compare_and_swap print device_assert dynamic_shapes dynamic_shared pointers directed_rounding"
            ).split()
        ),
    )


SPEC = TargetSpec(
    kind="cpu",
    doc="the host's processor, through the LLVM that comes with apache-tvm; needs no compiler",
    capabilities=capabilities,
    detect=detect,
    resolve=resolve,
    attributes={
        "march": AttributeSpec(
            "whose instructions to use: native, generic, or a processor by LLVM's name", "native", other_names=("mcpu",)
        ),
        "system": AttributeSpec(
            "the system that kernels run on; this machine's by default",
            choices=systems.SYSTEMS,
        ),
        "features": AttributeSpec("instruction set extensions, comma separated, in LLVM's spelling"),
        "bfloat16": AttributeSpec(
            "how matrices of bfloat16 are multiplied without tile registers: by the processor's dot products, or"
            " widened to float32, which some processors do faster",
            choices=("dots", "widened"),
        ),
        "vector_bits": AttributeSpec("width of the vectors that loops are made into", choices=(128, 256, 512)),
        "tile_vectors": AttributeSpec(
            "vectors of a row of the tile that the registers hold in products of matrices of floats", choices=(2, 4)
        ),
        "cache_bytes": AttributeSpec("size of the last cache; outputs from a quarter of it on are written past it"),
        "model": AttributeSpec("the processor's kind"),
    },
    aliases={"llvm": {}, "c": {}, "host": {}},
    device=1,
    torch_device="cpu",
    options=(
        PassOption(
            PassConfigKey.TL_EMIT_LINE_DIRECTIVES.value,
            "name your lines in the object code, for profilers and debuggers",
        ),
    ),
    modules={
        "cpu.language": "tilecore.language",
        "carver.arch.CPU": "tilecore.backends.cpu.figures:CPU",
        "carver.arch.is_cpu_arch": "tilecore.backends.cpu.figures:is_cpu_arch",
        "carver.arch.driver.get_num_sms": "tilecore.backends.cpu.figures:get_num_sms",
        "language.fp8.determine_fp8_type": "tilecore.language.float8:determine_fp8_type",
    },
)
