"""How many waves and blocks of a kernel a chip runs at once: the limits of registers, of LDS, and of the SIMD.

Sources: LLVM's AMDGPUBaseInfo.cpp (registers of a SIMD and steps of their allocation, waves of a SIMD, scalar
registers), and AMD's ISA documents (LDS of a CU). Tests compare the results with clang's remark
"kernel-resource-usage".
"""

from __future__ import annotations

from dataclasses import dataclass

from tile_hip.figures.code_object import KernelFigures

SIMDS = 4  # of a CU of CDNA, and of a workgroup processor (WGP: two CUs) of RDNA
# RDNA chips whose SIMDs have 1.5 times the registers (LLVM's Feature1_5xVGPRs)
_LARGE_FILES = ("gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201")
_FEW_SGPRS = 100  # of a wave of gfx9: with more, 7 waves fit instead of 8


@dataclass(frozen=True)
class Budget:
    """What the waves of a SIMD and the blocks of a CU (RDNA: WGP) share.

    registers: vector registers of a lane, of all waves of a SIMD; step: they are allocated in multiples of it.
    waves: the most waves of a SIMD. lds_bytes: the LDS of a CU or WGP. unit: "CU" or "WGP". barriers: the blocks of
    several waves that it can synchronize at once. counts_sgprs: do scalar registers limit the waves?
    """

    registers: int
    step: int
    waves: int
    lds_bytes: int
    unit: str
    barriers: int
    counts_sgprs: bool = False


def budget(arch: str, wave: int) -> Budget:
    """The budget of a chip that runs waves of 32 or 64 lanes."""
    if arch.startswith("gfx9"):
        return Budget(512, 8, 8, (160 if arch == "gfx950" else 64) << 10, "CU", 16, counts_sgprs=True)
    registers, step = (1536, 24) if arch in _LARGE_FILES else (1024, 16)
    halves = wave // 32  # a wave of 64 lanes has two rows of each register
    return Budget(registers // halves, step // halves, 16, 128 << 10, "WGP", 32)


@dataclass(frozen=True)
class Occupancy:
    """waves: of a SIMD, at most; a fraction where the blocks leave some SIMDs with one wave less.

    blocks: of a CU or WGP. by_registers, by_lds: the waves of a SIMD that each of them alone allows. limit: what limits
    the blocks.
    """

    waves: float
    blocks: int
    by_registers: int
    by_lds: float
    limit: str


def occupancy(arch: str, kernel: KernelFigures, threads: int, dynamic_lds: int = 0) -> Occupancy:
    """The occupancy of blocks of ``threads`` threads that have ``dynamic_lds`` bytes of LDS besides the static ones."""
    shares = budget(arch, kernel.wave)
    by_registers = waves_by_registers(shares, kernel.vgprs)
    if shares.counts_sgprs and kernel.sgprs > _FEW_SGPRS:
        by_registers = min(by_registers, 7)
    waves_of_block = -(-threads // kernel.wave)
    lds_bytes = kernel.lds_bytes + dynamic_lds
    blocks_by_waves = by_registers * SIMDS // waves_of_block
    blocks_by_lds = shares.lds_bytes // lds_bytes if lds_bytes else shares.waves * SIMDS
    blocks_by_barriers = shares.barriers if waves_of_block > 1 else shares.waves * SIMDS
    blocks = min(blocks_by_waves, blocks_by_lds, blocks_by_barriers)
    if blocks_by_lds < min(blocks_by_waves, blocks_by_barriers):
        limit = "LDS"
    elif blocks_by_barriers < blocks_by_waves:
        limit = "barriers"
    else:
        limit = "registers" if by_registers < shares.waves else "waves of a SIMD"
    return Occupancy(
        blocks * waves_of_block / SIMDS,
        blocks,
        by_registers,
        min(blocks_by_lds, blocks_by_barriers) * waves_of_block / SIMDS,
        limit,
    )


def waves_by_registers(shares: Budget, vgprs: int) -> int:
    """The waves of a SIMD whose lanes have ``vgprs`` vector registers each."""
    allocated = -(-max(vgprs, 1) // shares.step) * shares.step
    return max(1, min(shares.waves, shares.registers // allocated))


def registers_for(shares: Budget, waves: int) -> int:
    """The most vector registers of a lane with which ``waves`` waves fit on a SIMD."""
    return shares.registers // waves // shares.step * shares.step
