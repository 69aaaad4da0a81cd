"""Passes: named steps from tile IR to target IR, and how a backend edits the list of a family by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.errors import PluginError, TilecoreError
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.contract.implementation import TileOpImpl
    from tilecore.contract.records import Capabilities
    from tilecore.ir.nodes import PrimFunc
    from tilecore.plugins.guard import Origin


DEFINITION = "definition"  # the fact: the span of the user's function


@dataclass
class PassEnv:
    """What a pass may look at, and the report that it adds to.

    config: pass configuration by key. report: plain data for ``kernel.explain()``, a list a topic. facts: what an
    earlier pass found out for a later one, by name. refusals: where errors go that a pass can go on after; None: the
    first one is raised.
    """

    target: Target
    capabilities: Capabilities
    implementations: Sequence[TileOpImpl] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    report: dict[str, list[Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    refusals: list[TilecoreError] | None = None

    def refuse(self, error: TilecoreError) -> None:
        """Raise the error; where all refusals of a kernel are wanted, keep it and go on."""
        if self.refusals is None:
            raise error
        self.refusals.append(error)

    def note(self, topic: str, entry: Any) -> None:
        """Add one line to the report."""
        self.report.setdefault(topic, []).append(entry)


@dataclass(frozen=True)
class Pass:
    """A named step. ``run`` takes and returns a PrimFunc; the last step of a family may return an IRModule."""

    name: str
    run: Callable[[PrimFunc, PassEnv], Any]


@dataclass(frozen=True)
class Gap:
    """A named place in a family's pipeline where backends insert passes."""

    name: str


@dataclass(frozen=True)
class PassEdit:
    """One change of a family's pipeline.

    action: "insert" (``at`` names a gap, or a pass to go "before" or "after"), "replace" or "remove" (``at`` names a
    pass). where: "before" or "after", for an insertion at a pass.
    """

    action: str
    at: str
    step: Pass | None = None
    where: str = "after"


def edited(steps: Sequence[Pass | Gap], edits: Sequence[PassEdit], owner: Origin) -> list[Pass]:
    """The pipeline with a backend's edits, one after the other; gaps that nothing fills vanish.

    ``owner`` is blamed when an edit is wrong.
    """
    pipeline: list[Pass | Gap] = list(steps)
    for edit in edits:
        at = _place(pipeline, edit, owner)
        if edit.action == "insert" and edit.step is not None:
            pipeline.insert(at if edit.where == "before" else at + 1, edit.step)
        elif edit.action == "replace" and edit.step is not None and isinstance(pipeline[at], Pass):
            pipeline[at] = edit.step
        elif edit.action == "remove" and edit.step is None and isinstance(pipeline[at], Pass):
            del pipeline[at]
        else:
            expected = "a pass to insert at a gap or a pass, one to replace a pass by, or the name of one to remove"
            raise _wrong(owner, "it makes a pipeline edit that means nothing", str(edit), expected)
    return [step for step in pipeline if isinstance(step, Pass)]


def _place(pipeline: Sequence[Pass | Gap], edit: PassEdit, owner: Origin) -> int:
    names = [step.name for step in pipeline]
    if edit.at in names:
        return names.index(edit.at)
    close = difflib.get_close_matches(edit.at, names, 1)
    expected = f"{close[0]!r}, or another of " if close else "one of "
    raise _wrong(
        owner, f"it edits the pipeline at {edit.at!r}, which is not there", repr(edit.at), expected + ", ".join(names)
    )


def _wrong(owner: Origin, message: str, found: str, expected: str) -> PluginError:
    from tilecore.plugins.checking import wrong  # not with the module, which the guard imports

    return wrong(owner, f"Lowering.edits: {message}", found, expected)
