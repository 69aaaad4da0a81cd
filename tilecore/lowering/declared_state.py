"""What state the passes of a pipeline declare, and whether each class is left before it is needed."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import ExtensionPoint, Pass
from tilecore.contract.state import PassState
from tilecore.lowering.state import UserFunction

BEFORE_PASSES = (UserFunction,)  # what the pipeline publishes before the first pass
Kinds = tuple[type[PassState], ...]


def needs_of(step: Pass, implementations: Sequence[TileOpImpl]) -> Kinds:
    """The classes that a pass reads, and those that the implementations read which it calls."""
    called = implementations if step.runs_implementations else ()
    return tuple(dict.fromkeys((*step.needs, *(kind for impl in called for kind in impl.needs))))


def leaves_of(step: Pass, implementations: Sequence[TileOpImpl]) -> Kinds:
    """The classes that a pass publishes or adds to, with those of the implementations which it calls."""
    called = implementations if step.runs_implementations else ()
    return tuple(dict.fromkeys((*step.leaves, *(kind for impl in called for kind in impl.leaves))))


def needed_too_early(steps: Sequence[Pass | ExtensionPoint], implementations: Sequence[TileOpImpl]) -> list[str]:
    """For each class that a pass needs and no pass before it leaves, a line that says so.

    A class that the pass publishes itself counts: the implementations that it calls may need it.
    """
    problems: list[str] = []
    left: set[type[PassState]] = set(BEFORE_PASSES)
    for step in steps:
        if not isinstance(step, Pass):
            continue
        missing = [kind for kind in step.needs if kind not in left]
        left |= set(leaves_of(step, implementations))
        missing += [kind for kind in needs_of(step, implementations) if kind not in {*left, *missing}]
        problems += [f"pass {step.name} needs {kind.__name__}, which no pass before it leaves" for kind in missing]
    return problems


def wrong_authors(steps: Sequence[Pass | ExtensionPoint]) -> list[str]:
    """For each pass that leaves a class which another pass creates, a line that says so."""
    return [
        f"pass {step.name} leaves {kind.__name__}, which {' or '.join(kind.created_by)} publishes"
        for step in steps
        if isinstance(step, Pass)
        for kind in step.leaves
        if not kind.is_collected and step.name not in kind.created_by
    ]
