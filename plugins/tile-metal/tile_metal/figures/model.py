"""A model of the time that the main loop of a kernel takes on an Apple GPU. It is a model: nothing here was measured,
and the instructions are those of clang for another GPU (``compiled.py``), not Apple's.

For one iteration of the loop by a simdgroup on each scheduler of a core it adds up how long each unit is busy, in
cycles (the rates, with their sources: ``chips.py``):

- ``float``: products of matrices, arithmetic of floats, conversions between floats; before family 9 also integers.
- ``integer``: from family 9 on, whose ALUs for floats and integers work at once.
- ``complex``: the slower part: products and shifts of integers, exp2, 1/x, conversions between integers and floats.
- ``shuffle``: exchanges between the lanes.
- ``issue``: an instruction in a cycle.
- ``threadgroup``: the accesses of threadgroup memory by 4 simdgroups: bytes / bandwidth, without bank conflicts.
- ``cache``: those of device memory, all of which hit the second-level cache, and whose lanes have neighbouring
  elements.
- ``memory``: in loops without matrix products also the memory itself, each byte once.

``count_share``: the products' part of the instructions. ``issue_share``: their part of the time in which the ALUs
work and all other instructions take a cycle each, if nothing at all runs beside the products. ``fraction``: the part
of the time in which products run if all units overlap perfectly. ``fraction_alone``: if nothing overlaps, accesses of
memory included. Latencies, waits at barriers, bank conflicts, misses of caches, spills and clocks are in none of
them. A block that runs conditionally in the loop counts as if it ran in each iteration.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tile_metal.figures import instructions as kinds
from tile_metal.figures.chips import LANES, SCHEDULERS, Rates, complex_cycles, rates_of
from tile_metal.figures.instructions import Mix

NOTE = "a model, not a measurement"
_SHUFFLES = {"metal_shuffle": 28.25, "metal_shuffle_xor": 2, "metal_vote": 2, "metal_reduction": 11.75}
_SHARED = (kinds.SHARED_LOAD, kinds.SHARED_STORE)
_DEVICE = (kinds.LOAD, kinds.STORE)
_ONE_CYCLE = (*kinds.ACCESSES, kinds.ATOMIC, kinds.BARRIER, kinds.FENCE, kinds.BRANCH)


@dataclass(frozen=True)
class LoopTime:
    """The time of one iteration, in cycles, by the model (see the module).

    busy: the cycles of each unit. cycles: those of the busiest, ``bound``; "matrix" where it is that of the floats, and
    products are most of its work. reason: why there is no model, "" otherwise.
    """

    busy: dict[str, float] = field(default_factory=dict)
    cycles: float = 0
    bound: str = ""
    count_share: float = 0
    issue_share: float = 0
    fraction: float = 0
    fraction_alone: float = 0
    reason: str = ""

    def as_data(self) -> dict[str, object]:
        """As plain data, with the note that it is a model."""
        if self.reason:
            return {"note": NOTE, "reason": self.reason}
        return {
            "note": NOTE,
            "cycles": round(self.cycles, 1),
            "busy": {name: round(cycles, 1) for name, cycles in self.busy.items()},
            "bound": self.bound,
            "count_share": round(self.count_share, 3),
            "issue_share": round(self.issue_share, 3),
            "fraction": round(self.fraction, 3),
            "fraction_alone": round(self.fraction_alone, 3),
        }

    def __str__(self) -> str:
        if self.reason:
            return f"no model of time: {self.reason}"
        share = "no matrix products"
        if self.fraction:
            share = (
                f"matrix products are {100 * self.issue_share:.0f} % of the time of the instructions "
                f"({100 * self.count_share:.0f} % of their number)"
            )
        return f"main loop: {share}, bound by {self.bound}, {self.cycles:.0f} cycles an iteration; {NOTE}"


def loop_time(family: str, mix: Mix) -> LoopTime:
    """The time of a main loop with these instructions on a GPU family such as "apple9"."""
    rates = rates_of(family)
    if rates is None:
        return LoopTime(reason=f"no rates of {family} are published")
    unknown = [name for name in mix.names.get(kinds.COMPLEX, ()) if complex_cycles(name) is None]
    if unknown:
        return LoopTime(reason=f"the rate of {unknown[0]} is not published")
    matrix = sum(rates.matrix[name.rpartition("_")[2]] * n for name, n in _names(mix, kinds.MATRIX).items())
    busy = _busy(rates, mix, matrix)
    bound = max(busy, key=lambda name: busy[name])
    issued = sum(busy.get(unit, 0) for unit in ("float", "integer", "complex", "shuffle"))
    issued += sum(mix.kinds[kind] for kind in _ONE_CYCLE)
    alone = issued + sum(busy.get(unit, 0) for unit in ("threadgroup", "cache", "memory"))
    return LoopTime(
        busy,
        busy[bound],
        "matrix" if bound == "float" and matrix > busy[bound] / 2 else bound,
        mix.kinds[kinds.MATRIX] / mix.count if mix.count else 0,
        matrix / issued if issued else 0,
        matrix / busy[bound] if busy[bound] else 0,
        matrix / alone if alone else 0,
    )


def _names(mix: Mix, kind: str) -> Counter[str]:
    return mix.names.get(kind, Counter())


def _busy(rates: Rates, mix: Mix, matrix: float) -> dict[str, float]:
    """By unit: the cycles that a simdgroup on each scheduler keeps it busy."""
    between_floats, with_integers = _conversions(rates, mix)
    integers = float(sum(_integer_cycles(name) * n for name, n in _names(mix, kinds.INTEGER).items()))
    floats = matrix + mix.kinds[kinds.FLOAT] + between_floats
    in_core = SCHEDULERS * LANES
    busy = {
        "float": floats if rates.apart else floats + integers,
        "complex": with_integers + sum((complex_cycles(s) or 0) * n for s, n in _names(mix, kinds.COMPLEX).items()),
        "shuffle": sum(_SHUFFLES[name] * n for name, n in _names(mix, kinds.SHUFFLE).items()),
        "issue": mix.count,
        "threadgroup": in_core * mix.bytes_of(*_SHARED) / rates.threadgroup,
        "cache": in_core * mix.bytes_of(*_DEVICE) / rates.cache,
    }
    if rates.apart:
        busy["integer"] = integers
    if not matrix:
        busy["memory"] = in_core * mix.bytes_of(*_DEVICE) / rates.chip.memory
    return {name: float(cycles) for name, cycles in busy.items()}


def _integer_cycles(name: str) -> int:
    """Of 64 bits: additions by four instructions, bit operations by two."""
    if not name.endswith("64"):
        return 1
    return 2 if name.startswith(("and", "or", "xor", "not", "selp")) else 4


def _conversions(rates: Rates, mix: Mix) -> tuple[float, float]:
    """The cycles of conversions between floats, and of those to or from integers, with roundings to whole numbers."""
    between_floats = with_integers = 0.0
    for name, count in _names(mix, kinds.CONVERSION).items():
        to, source = name.split(".")[-2:]
        if "f" not in to or "f" not in source or to == source:
            with_integers += 4 * count
        else:
            between_floats += (rates.to_bfloat if to.startswith("bf") else 1) * count
    return between_floats, with_integers
