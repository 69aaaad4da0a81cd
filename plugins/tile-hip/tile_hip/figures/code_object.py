"""Reads what a code object says about its kernels: registers, spills, scratch, LDS and arguments.

The format: LLVM's "User Guide for AMDGPU Backend", sections "ELF Code Object" (e_flags), "Code Object V5 Metadata".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_hip.figures import msgpack
from tile_hip.figures.elf import AMDGPU, Elf

_METADATA = ("AMDGPU", 32)  # owner and type of the note, NT_AMDGPU_METADATA
_PREFIX = "amdgcn-amd-amdhsa--"
# the chip in the low byte of e_flags, EF_AMDGPU_MACH
_MACHINES = {
    0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950", 0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102", 0x44: "gfx1103",
    0x43: "gfx1150", 0x4A: "gfx1151", 0x55: "gfx1152", 0x48: "gfx1200", 0x4E: "gfx1201",
}  # fmt: skip


@dataclass(frozen=True)
class KernelFigures:
    """What the metadata says about a kernel.

    vgprs: the vector registers of a lane, on CDNA with the accumulation registers (``agprs``). sgprs: the scalar
    registers of a wave. spilled_vgprs, spilled_sgprs: values that the compiler kept in memory or in other registers.
    scratch_bytes: the memory of a lane for spilled values and arrays. lds_bytes: the LDS of a block whose size the
    compiler knew; an array ``extern __shared__`` comes on top. kernarg_bytes: the arguments, hidden ones included.
    wave: the lanes of a wave. max_threads: the largest block.
    """

    name: str
    vgprs: int
    agprs: int
    sgprs: int
    spilled_vgprs: int
    spilled_sgprs: int
    scratch_bytes: int
    lds_bytes: int
    kernarg_bytes: int
    wave: int
    max_threads: int


@dataclass(frozen=True)
class CodeObject:
    """arch: the chip that it is for, such as gfx942."""

    arch: str
    kernels: tuple[KernelFigures, ...]


def read(binary: bytes) -> CodeObject:
    """What a code object says. Raises ValueError for bytes that are no code object of a known chip."""
    elf = Elf.read(binary)
    if elf.machine != AMDGPU:
        raise ValueError(f"an ELF file for machine {elf.machine}, not for an AMD GPU ({AMDGPU})")
    metadata = next((msgpack.decode(data) for *kind, data in elf.notes() if tuple(kind) == _METADATA), None)
    if not isinstance(metadata, dict):
        raise ValueError("the code object has no metadata")
    arch = _MACHINES.get(elf.flags & 0xFF)
    if arch is None:
        target = str(metadata.get("amdhsa.target", f"with the number 0x{elf.flags & 0xFF:x}"))
        raise ValueError(f"a code object for an unknown chip, {target.removeprefix(_PREFIX)}")
    return CodeObject(arch, tuple(_figures(kernel) for kernel in metadata.get("amdhsa.kernels", ())))


def _figures(kernel: dict[str, Any]) -> KernelFigures:
    return KernelFigures(
        name=kernel[".name"],
        vgprs=kernel.get(".vgpr_count", 0),
        agprs=kernel.get(".agpr_count", 0),
        sgprs=kernel.get(".sgpr_count", 0),
        spilled_vgprs=kernel.get(".vgpr_spill_count", 0),
        spilled_sgprs=kernel.get(".sgpr_spill_count", 0),
        scratch_bytes=kernel.get(".private_segment_fixed_size", 0),
        lds_bytes=kernel.get(".group_segment_fixed_size", 0),
        kernarg_bytes=kernel.get(".kernarg_segment_size", 0),
        wave=kernel.get(".wavefront_size", 64),
        max_threads=kernel.get(".max_flat_workgroup_size", 1024),
    )
