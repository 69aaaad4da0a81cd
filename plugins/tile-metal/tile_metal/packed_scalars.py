"""Scalars and sizes as one structure, in kernels with more parameters than Metal has slots for buffers.

Each is in the low bytes of a word of 8 bytes, as in the slots of a launch. The structure takes one slot, and at most
4 KiB (setBytes), so a kernel may have 512 of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilecore.codegen.text import Text
from tilecore.dtypes import FACTS

if TYPE_CHECKING:
    from tilecore.codegen.source_emitter import SourceEmitter
    from tilecore.codegen.syntax import Parameter

NAME = "tc_scalars"  # of the parameter
MOST = 512  # scalars of a kernel
ATTRIBUTE = "packed_scalars"  # of the artifact's entry, for the launch
_BITS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


def declare(emit: SourceEmitter, scalars: Sequence[Parameter]) -> None:
    """Declares the structure in front of the kernel."""
    kind = structure(emit)
    emit.declare(kind, f"struct {kind} {{ long words[{len(scalars)}]; }};")


def structure(emit: SourceEmitter) -> str:
    """The name of the structure."""
    return f"{emit.symbol}_scalars"


def emit_values(emit: SourceEmitter, scalars: Sequence[Parameter]) -> None:
    """A constant for each scalar, with its name, as the first lines of the kernel."""
    for index, parameter in enumerate(scalars):
        emit.line(emit.constant(parameter.dtype, parameter.name, _value(emit, parameter.dtype, index)))


def _value(emit: SourceEmitter, dtype: str, index: int) -> Text:
    word, facts = Text(f"{NAME}.words[{index}]"), FACTS[dtype]
    if facts.kind in ("int", "uint"):
        return emit.cast(dtype, word)
    bits = emit.cast(_BITS[(facts.bits + 7) // 8], word)
    if facts.kind == "bool":
        return Text(f"{bits} != 0")
    return emit.typed_function("tc_bits", dtype, bits)
