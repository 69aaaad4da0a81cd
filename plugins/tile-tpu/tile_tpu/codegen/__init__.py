"""Emits C for ``tpu_kernel.h`` from lowered kernels. Registered with TVM as ``target.build.tilecore_tpu``."""

from __future__ import annotations

import json
from typing import Any

from tilecore.contract.records import Codegen

FUNCTION = "target.build.tilecore_tpu"


def register() -> None:
    from tilecore.codegen.registration import register_codegen

    register_codegen(FUNCTION, build)


def build(module: Any, target: str) -> dict[str, str]:
    """The source of the module, and the attributes of its kernels as JSON: {symbol: {"attributes": {...}}} with

    - cores: the number of work items of the launch (block_num).
    - fields: the type of each field of the struct of arguments, in order; "uint64" for an address.
    - assertions: the texts of the kernel's assertions.
    """
    from tile_tpu.chips import find_chip
    from tile_tpu.codegen.module import emit_module
    from tilecore.target import Target

    chip = find_chip(str(Target.parse(target).get("chip")))
    source, facts = emit_module(module, chip)
    return {"source": source, "entries": json.dumps(facts)}


CODEGEN = Codegen(function=FUNCTION, emits="c", register=register)
