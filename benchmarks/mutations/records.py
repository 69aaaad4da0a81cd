"""Reads the mutations from records/: a file for each room, a record for each mistake of a backend's author."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest brings it
    import tomli as tomllib

FOLDER = Path(__file__).parent / "records"
ROOMS = ("target", "lowering", "codegen", "toolchain", "adapter")


@dataclass(frozen=True)
class Mutation:
    """One mistake: in ``file`` of the sample, ``text``, which occurs there once, is replaced by ``by``.

    mistake: what it stands for, in a sentence. first: groups of the kit, or single cases of one ("gemm::test_sizes"),
    that are run before all others. survives: why the kit cannot notice it, where it cannot.
    """

    name: str
    room: str
    file: str
    text: str
    by: str
    mistake: str
    first: tuple[str, ...] = ()
    survives: str = ""


def mutations(folder: Path = FOLDER) -> list[Mutation]:
    """All mutations, room by room."""
    records = [_record(room, facts) for room in ROOMS for facts in _facts(folder / f"{room}.toml")]
    names = [mutation.name for mutation in records]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"several mutations have one name: {', '.join(twice)}")
    return records


def _facts(path: Path) -> list[dict]:
    return tomllib.loads(path.read_text())["mutation"]


def _record(room: str, facts: dict) -> Mutation:
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    return Mutation(room=room, **fields)
