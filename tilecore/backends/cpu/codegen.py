"""Emission of LLVM IR, registered with TVM as ``target.build.tilecore_cpu``."""

from __future__ import annotations

import json
from typing import Any

from tilecore.backends.cpu.streams import Streams
from tilecore.backends.cpu.target import features_in, is_intels
from tilecore.contract.records import Codegen
from tilecore.target import Target

FUNCTION = "target.build.tilecore_cpu"


def register() -> None:
    from tilecore.codegen.registration import register_codegen

    register_codegen(FUNCTION, build)


def build(mod: Any, target: str) -> dict[str, str]:
    """The module's source, and facts of its entries: {symbol: {"shared_bytes": ..., "attributes": {...}}} as JSON."""
    from tilecore.backends.cpu.llvm.module import emit_module
    from tilecore.backends.cpu.systems import system_of

    resolved = Target.parse(target)
    emitted = emit_module(mod, streams_of(resolved), features_in(resolved), system_of(resolved))
    facts = {
        symbol: {"shared_bytes": scratch, "attributes": {"assertions": emitted.assertions}}
        for symbol, scratch in emitted.scratch.items()
    }
    return {"source": emitted.text, "entries": json.dumps(facts)}


def streams_of(target: Target) -> Streams:
    """Outputs from a quarter of the last cache on are written past the caches, where stores can do that."""
    able = {"avx2", "avx512f"} & features_in(target)
    return Streams(int(target.get("cache_bytes") or 0) // 4 if able else 0, not is_intels(target))


CODEGEN = Codegen(function=FUNCTION, emits="ll", register=register)
