"""The struct of arguments that a kernel's entry gets.

Its fields are the slots of the artifact in their order: addresses of the tensors and of the workspaces (64 bits),
scalars in their own type, sizes that are only known at the call in theirs. Every field is aligned to its size, as C
compilers of x86-64, RISC-V and ARM align it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilecore.dtypes import dtype
from tilecore.runtime.artifact import Artifact, ScalarParam, TensorParam

_ADDRESS = 8


@dataclass(frozen=True)
class Field:
    """One slot in the struct. at, nbytes: where it is and how big."""

    name: str
    at: int
    nbytes: int
    is_pointer: bool


@dataclass(frozen=True)
class Struct:
    """fields: one a slot. nbytes: of the struct, as ``sizeof`` says."""

    fields: tuple[Field, ...]
    nbytes: int

    def packed(self, slots: Sequence[int]) -> bytes:
        """The struct with the values of the slots (int64 each, little-endian); pointers are left at 0.

        A slot has the value's bits in its low bytes: floats those of their own dtype, integers extended.
        """
        made = bytearray(self.nbytes)
        for field, slot in zip(self.fields, slots, strict=True):
            if not field.is_pointer:
                word = (slot % 2**64).to_bytes(8, "little")
                made[field.at : field.at + field.nbytes] = word[: field.nbytes]
        return bytes(made)


def struct_of(artifact: Artifact) -> Struct:
    """The layout for an artifact's kernels; all its entries take the same."""
    tensors = [p.name for p in artifact.params if isinstance(p, TensorParam)] + [w.name for w in artifact.workspaces]
    values = [(p.name, dtype(p.dtype).bytes) for p in artifact.params if isinstance(p, ScalarParam)]
    values += [(s.name, dtype(s.dtype).bytes) for s in artifact.symbols]
    fields, at = [], 0
    for name, nbytes, is_pointer in [(n, _ADDRESS, True) for n in tensors] + [(*value, False) for value in values]:
        at = -(-at // nbytes) * nbytes
        fields.append(Field(name, at, nbytes, is_pointer))
        at += nbytes
    widest = max((field.nbytes for field in fields), default=1)
    return Struct(tuple(fields), -(-at // widest) * widest)
