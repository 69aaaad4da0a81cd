"""Checks the state that the passes of a pipeline declare: each class is published before a pass needs it."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import ExtensionPoint, Pass
from tilecore.contract.state import PassState
from tilecore.lowering.state import UserFunction

BEFORE_PASSES = (UserFunction,)  # what the pipeline publishes before the first pass
StateClasses = tuple[type[PassState], ...]


def needs_of(step: Pass, implementations: Sequence[TileOpImpl]) -> StateClasses:
    """The classes that a pass reads itself, or through the implementations that it calls."""
    called = implementations if step.runs_implementations else ()
    return tuple(dict.fromkeys((*step.needs, *(kind for impl in called for kind in impl.needs))))


def leaves_of(step: Pass, implementations: Sequence[TileOpImpl]) -> StateClasses:
    """The classes that a pass publishes or adds to itself, or through the implementations that it calls."""
    called = implementations if step.runs_implementations else ()
    return tuple(dict.fromkeys((*step.leaves, *(kind for impl in called for kind in impl.leaves))))


def needed_too_early(steps: Sequence[Pass | ExtensionPoint], implementations: Sequence[TileOpImpl]) -> list[str]:
    """A message for each class that a pass needs and no earlier pass leaves.

    A class that the pass itself publishes is available to the implementations that it calls.
    """
    problems: list[str] = []
    published: set[type[PassState]] = set(BEFORE_PASSES)
    for step in steps:
        if not isinstance(step, Pass):
            continue
        missing = [kind for kind in step.needs if kind not in published]
        published |= set(leaves_of(step, implementations))
        missing += [kind for kind in needs_of(step, implementations) if kind not in {*published, *missing}]
        problems += [f"pass {step.name} needs {kind.__name__}, which no pass before it leaves" for kind in missing]
    return problems


def wrong_publishers(steps: Sequence[Pass | ExtensionPoint]) -> list[str]:
    """A message for each pass that leaves a class which only another pass may create."""
    return [
        f"pass {step.name} leaves {kind.__name__}, which {' or '.join(kind.created_by)} publishes"
        for step in steps
        if isinstance(step, Pass)
        for kind in step.leaves
        if not kind.is_collected and step.name not in kind.created_by
    ]
