"""Tells ``kernel.explain()`` what of an architecture's own is left unused."""

from __future__ import annotations

from tile_cuda.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import PrimFunc

_OWN = {
    100: "its matrix instructions tcgen05 and tensor memory are not used",
    103: "its matrix instructions tcgen05 and tensor memory are not used",
    110: "its matrix instructions tcgen05 and tensor memory are not used",
    120: "its block-scaled matrix instructions are not used",
    121: "its block-scaled matrix instructions are not used",
}


def note_architecture(func: PrimFunc, env: PassEnv) -> PrimFunc:
    arch = architecture_of(env.target)
    unused_features = _OWN.get(arch.capability)
    if unused_features is not None:
        env.note("notes", {"text": f"{arch.name} goes the way that all architectures share; {unused_features}"})
    return func


NOTE_ARCHITECTURE = Pass("note_architecture", note_architecture)
