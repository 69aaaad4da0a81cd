"""A model of the time that the main loop of a kernel takes. It is a model: nothing here was measured on a GPU.

For one iteration of the loop by every wave of a SIMD it adds up how long each unit is busy:

- ``matrix``: the matrix instructions (``matrix_rates.py``), and on CDNA 3 and 4 the vector instructions that do not
  start beside them: packed float32 and dot products (llvm/llvm-project pull request 233721).
- ``vector``: the vector instructions, and of each matrix instruction the cycles in which none of them starts.
- ``transcendental``: on RDNA, whose SIMDs have a unit for it.
- ``scalar``, ``branch``: one of each in an issue slot.
- ``issue``: what one wave alone issues: an instruction in a slot.
- ``lds``: the LDS that the 4 SIMDs share: bytes / bandwidth, without bank conflicts; of a write on CDNA also 4 bytes of
  address (AMD, "ROCm Compute Profiler", Pipeline descriptions, Local data share: 16 bytes a lane take 20 cycles).
- ``cache``: the loads and stores of global memory, all of which hit the second-level cache.
- ``memory``: in loops without matrix instructions also the memory itself, each byte once.

``fraction`` is the part of the time in which the matrix unit works if all units overlap perfectly: the busiest of them
takes the time. ``fraction_in_order``: only the instructions of different waves overlap; those of one wave run one after
the other, but for its loads of global memory, which run ahead. ``fraction_alone``: one wave on each SIMD, and nothing
overlaps. A kernel whose waves wait for each other at barriers is between the last and the first.
Latencies, waits, barriers, bank conflicts, misses of caches and clocks are in neither. A block that runs conditionally
in the loop counts as if it ran in each iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

from tile_hip.figures import instruction_kinds as kinds
from tile_hip.figures.chips import Chip, chip_of
from tile_hip.figures.instruction_kinds import InstructionMix
from tile_hip.figures.matrix_rates import family_of, rate_of
from tile_hip.figures.occupancy import SIMDS

NOTE = "a model, not a measurement"
_LDS_KINDS = (kinds.LDS_READ, kinds.LDS_WRITE, kinds.LDS_ATOMIC, kinds.LANE_EXCHANGE, kinds.LDS_DIRECT)
_WRITING = (kinds.LDS_WRITE, kinds.LDS_ATOMIC, kinds.LANE_EXCHANGE)
_ADDRESS_BYTES = 4  # of a lane
_LDS_PORTS = 2  # each for two SIMDs, with half of the bandwidth
_GLOBAL_KINDS = (kinds.LOAD, kinds.STORE, kinds.ATOMIC, kinds.LDS_DIRECT, kinds.FLAT, kinds.SCRATCH)
_QUARTER_RATE = ("v_mul_lo_u32", "v_mul_hi_u32", "v_mul_hi_i32", "v_mad_u64_u32", "v_mad_i64_i32")  # on RDNA
_NOT_BESIDE_MATRIX = ("v_pk_fma_f32", "v_pk_mul_f32", "v_pk_add_f32", "v_pk_mov_b32", "v_dot")


@dataclass(frozen=True)
class LoopTime:
    """The time of one iteration, in cycles, by the model.

    waves: of a SIMD. busy: the cycles of each unit. cycles: those of the busiest, ``bound``. fraction,
    fraction_in_order, fraction_alone: the part of the time in which the matrix unit works (see the module). reason: why
    there is no model, "" otherwise.
    """

    waves: float = 0
    busy: dict[str, float] | None = None
    cycles: float = 0
    bound: str = ""
    fraction: float = 0
    fraction_in_order: float = 0
    fraction_alone: float = 0
    reason: str = ""

    def as_data(self) -> dict[str, object]:
        """As plain data, with the note that it is a model."""
        if self.reason:
            return {"note": NOTE, "reason": self.reason}
        return {
            "note": NOTE,
            "waves_per_simd": round(self.waves, 2),
            "cycles": round(self.cycles, 1),
            "busy": {name: round(cycles, 1) for name, cycles in (self.busy or {}).items()},
            "bound": self.bound,
            "fraction": round(self.fraction, 3),
            "fraction_in_order": round(self.fraction_in_order, 3),
            "fraction_alone": round(self.fraction_alone, 3),
        }

    def __str__(self) -> str:
        if self.reason:
            return f"no model of time: {self.reason}"
        share = "no matrix instructions"
        if self.fraction:
            share = (
                f"{100 * self.fraction:.0f} % of the matrix slots filled ({100 * self.fraction_in_order:.0f} % if only "
            )
            share += f"waves overlap, {100 * self.fraction_alone:.0f} % by one wave alone)"
        return f"main loop: {share}, bound by {self.bound}, {self.cycles:.0f} cycles an iteration; {NOTE}"


def loop_time(arch: str, wave: int, mix: InstructionMix, waves: float) -> LoopTime:
    """The time of a main loop with these instructions. wave: its lanes. waves: on each SIMD, from the occupancy."""
    chip = chip_of(arch)
    if chip is None:
        return LoopTime(reason=f"it knows no product with {arch}")
    if waves <= 0:
        return LoopTime(reason="no block of the kernel fits on the chip")
    unknown = [name for name in mix.matrix if rate_of(arch, name) is None]
    if unknown:
        return LoopTime(reason=f"the rate of {unknown[0]} on {arch} is not published")
    matrix = sum(rate.cycles * count for name, count in mix.matrix.items() if (rate := rate_of(arch, name)))
    single = _busy(chip, arch, wave, mix, matrix)
    # every unit but the issue of a wave serves all waves of its SIMD
    busy = {name: cycles if name == "issue" else cycles * waves for name, cycles in single.items()}
    bound = max(busy, key=lambda name: busy[name])
    twice = _counted_twice(arch, mix)
    alone = sum(cycles for name, cycles in single.items() if name != "issue") - twice
    arithmetic = ("matrix", "vector", "transcendental", "scalar", "branch")
    of_a_wave = sum(single.get(name, 0) for name in arithmetic) - twice + single["lds"] * _LDS_PORTS / SIMDS
    in_order = max(busy[bound], of_a_wave)
    return LoopTime(
        waves,
        busy,
        busy[bound],
        bound,
        waves * matrix / busy[bound] if busy[bound] else 0,
        waves * matrix / in_order if in_order else 0,
        matrix / alone if alone else 0,
    )


def _busy(chip: Chip, arch: str, wave: int, mix: InstructionMix, matrix: int) -> dict[str, float]:
    """By unit: the cycles that one wave of each SIMD keeps it busy."""
    vector_cycles, transcendental_cycles, beside = _vector_cycles(chip, arch, wave, mix)
    waiting = sum(rate.vector_wait * count for name, count in mix.matrix.items() if (rate := rate_of(arch, name)))
    busy = {
        "matrix": matrix + beside,
        "vector": vector_cycles + waiting + (0 if chip.apart else transcendental_cycles),
        "scalar": chip.issue * (mix.kinds[kinds.SALU] + mix.kinds[kinds.SCALAR_LOAD]),
        "branch": chip.issue * mix.kinds[kinds.BRANCH],
        "issue": chip.issue * (mix.count - mix.kinds[kinds.OTHER] - mix.kinds[kinds.WAIT] + mix.stalls),
        "lds": SIMDS * _lds_cycles(chip, wave, mix),
        "cache": SIMDS * wave * sum(map(mix.bytes_of, _GLOBAL_KINDS)) / chip.cache,
    }
    if chip.apart:
        busy["transcendental"] = transcendental_cycles
    if not matrix:
        busy["memory"] = (
            SIMDS * wave * sum(map(mix.bytes_of, (kinds.LOAD, kinds.STORE, kinds.LDS_DIRECT))) / chip.memory
        )
    return {name: float(cycles) for name, cycles in busy.items()}


def _vector_cycles(chip: Chip, arch: str, wave: int, mix: InstructionMix) -> tuple[float, float, float]:
    """The cycles of plain, of transcendental, and of those vector instructions that do not run beside matrix ones."""
    rows = wave // 32 if chip.apart else 1
    plain = float(mix.kinds[kinds.VALU] * chip.vector * rows)
    if chip.apart:
        slow = sum(count for name, count in mix.names.items() if name.startswith(_QUARTER_RATE))
        plain += 3 * slow * chip.vector * rows
    transcendental = mix.kinds[kinds.TRANSCENDENTAL] * chip.transcendental * rows
    if family_of(arch) not in ("gfx942", "gfx950") or not mix.matrix:
        return plain, transcendental, 0
    beside = sum(count for name, count in mix.names.items() if name.startswith(_NOT_BESIDE_MATRIX))
    return plain, transcendental, beside * chip.vector


def _counted_twice(arch: str, mix: InstructionMix) -> float:
    """The cycles that stand both under "matrix" and under "vector": a wave alone spends them once."""
    waiting = sum(rate.vector_wait * count for name, count in mix.matrix.items() if (rate := rate_of(arch, name)))
    beside = 0
    if family_of(arch) in ("gfx942", "gfx950") and mix.matrix:
        beside = 4 * sum(count for name, count in mix.names.items() if name.startswith(_NOT_BESIDE_MATRIX))
    return waiting + beside


def _lds_cycles(chip: Chip, wave: int, mix: InstructionMix) -> float:
    """The cycles that the LDS takes for the accesses of one wave, if both of its ports work."""
    cycles = 0.0
    for kind in _LDS_KINDS:
        for width, count in mix.widths.get(kind, {}).items():
            rate = chip.wide_reads if kind == kinds.LDS_READ and width in (8, 16) else chip.lds
            # on CDNA what is written and its addresses take turns on the way in
            address = _ADDRESS_BYTES if kind in _WRITING and not chip.apart else 0
            cycles += count * max(1.0, wave * (width + address) / rate)
    return cycles
