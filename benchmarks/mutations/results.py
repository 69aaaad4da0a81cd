"""The file of verdicts: written after each, so that a run that is cut off can go on."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.mutations import judge
from benchmarks.mutations.judge import Verdict
from benchmarks.mutations.kit import Outcome
from benchmarks.mutations.records import Mutation


class Results:
    """Verdicts by name, and the whole kit's run on the sample without mutations."""

    def __init__(self, path: Path | None, mutations: Sequence[Mutation]) -> None:
        self.path, self.known = path, mutations
        self.clean: dict[str, Any] = {}
        self.found: dict[str, Verdict] = {}

    @staticmethod
    def at(path: Path | None, mutations: Sequence[Mutation]) -> Results:
        """With what the file says of mutations that there still are."""
        results = Results(path, mutations)
        if path is not None and path.exists():
            facts = json.loads(path.read_text())
            results.clean = facts["clean"]
            results.found = {facts["name"]: Verdict(**facts) for facts in facts["verdicts"]}
        return results

    def is_killed(self, name: str) -> bool:
        return name in self.found and self.found[name].killed

    def verdicts(self, names: Collection[str] | None = None) -> list[Verdict]:
        """Of these mutations, else of all, in the order of the records, with their words on survivors."""
        chosen_mutations = [m for m in self.known if m.name in self.found and (names is None or m.name in names)]
        return [replace(self.found[m.name], survives=m.survives) for m in chosen_mutations]

    def note_clean(self, clean: Outcome) -> None:
        self.clean = {"date": time.strftime("%Y-%m-%d"), "cases": clean.cases, "seconds": round(clean.seconds)}

    def add(self, verdict: Verdict) -> None:
        self.found[verdict.name] = verdict
        if self.path is not None:
            facts = judge.data(self.verdicts(), {"clean": self.clean})
            self.path.write_text(json.dumps(facts, indent=1) + "\n")
