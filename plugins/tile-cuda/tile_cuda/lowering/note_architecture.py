"""Notes for ``kernel.explain()`` the features of an architecture that are not used."""

from __future__ import annotations

from tile_cuda.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import PrimFunc

_UNUSED_FEATURES = {
    100: "its matrix instructions tcgen05 and tensor memory are not used",
    103: "its matrix instructions tcgen05 and tensor memory are not used",
    110: "its matrix instructions tcgen05 and tensor memory are not used",
    120: "its block-scaled matrix instructions are not used",
    121: "its block-scaled matrix instructions are not used",
}


def note_architecture(func: PrimFunc, env: PassEnv) -> PrimFunc:
    arch = architecture_of(env.target)
    unused_features = _UNUSED_FEATURES.get(arch.capability)
    if unused_features is not None:
        env.note("notes", {"text": f"{arch.name} is compiled like earlier architectures; {unused_features}"})
    return func


NOTE_ARCHITECTURE = Pass("note_architecture", note_architecture)
