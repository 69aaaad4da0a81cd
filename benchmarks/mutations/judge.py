"""Judges each mutation: killed, by which case and after what time, or survived; and the rate of killed ones by room."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutations import kit
from benchmarks.mutations.records import ROOMS, Mutation
from benchmarks.mutations.sample import plant

CHEAP = ("registration", "compiles")  # run first, where a record names no others
FLOOR = 0.95  # of mutations that have to be killed


@dataclass(frozen=True)
class Verdict:
    """killed: whether the kit noticed. ended: "failed", "refused", "crashed", "hung"; "" for a survivor."""

    name: str
    room: str
    killed: bool
    ended: str
    case: str
    reason: str
    seconds: float
    survives: str = ""


def judge(mutation: Mutation, sample: Path, order: Sequence[str]) -> Verdict:
    """The groups and cases that the record names, then all other groups in this order."""
    first = [*mutation.first] or [*CHEAP]
    seconds = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        folder = plant(sample, mutation, Path(scratch, "mutated"))
        for groups in (first, [group for group in order if group not in first]):
            if not groups:
                break
            outcome = kit.run(folder, groups)
            seconds += outcome.seconds
            if outcome.ended == "broken":
                raise RuntimeError(f"{mutation.name}: the kit did not run\n{outcome.reason}")
            if outcome.ended != "passed":
                ended, case, reason = outcome.ended, outcome.case, outcome.reason
                return Verdict(mutation.name, mutation.room, True, ended, case, reason, seconds, mutation.survives)
    return Verdict(mutation.name, mutation.room, False, "", "", "", seconds, mutation.survives)


def surprises(verdicts: Iterable[Verdict]) -> list[str]:
    """Survivors that no record explains, and those that are explained but were killed."""
    mismatches = []
    for verdict in verdicts:
        if not verdict.killed and not verdict.survives:
            mismatches.append(f"{verdict.name} survives, and its record does not say why")
        if verdict.killed and verdict.survives:
            mismatches.append(f"{verdict.name} is killed by {verdict.case}: its record says that it survives")
    return mismatches


def rate(verdicts: Sequence[Verdict]) -> float:
    return sum(verdict.killed for verdict in verdicts) / len(verdicts) if verdicts else 0.0


def by_room(verdicts: Sequence[Verdict]) -> dict[str, tuple[int, int]]:
    """(killed, all) of each room."""
    rooms = {room: [verdict for verdict in verdicts if verdict.room == room] for room in ROOMS}
    return {
        room: (sum(v.killed for v in room_verdicts), len(room_verdicts))
        for room, room_verdicts in rooms.items()
        if room_verdicts
    }


def data(verdicts: Sequence[Verdict], facts: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON."""
    return {
        **facts,
        "killed": sum(verdict.killed for verdict in verdicts),
        "mutations": len(verdicts),
        "rate": round(rate(verdicts), 4),
        "rooms": {room: {"killed": killed, "mutations": count} for room, (killed, count) in by_room(verdicts).items()},
        "verdicts": [asdict(verdict) for verdict in verdicts],
    }
