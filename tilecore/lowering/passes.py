"""Passes: named steps from tile IR to target IR, and how a backend edits the list of a family by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.errors import PluginError
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.ir.nodes import PrimFunc
    from tilecore.lowering.implementation import TileOpImpl
    from tilecore.plugins.backend import Capabilities


@dataclass
class PassEnv:
    """What a pass may look at, and the report that it adds to.

    config: pass configuration by key. report: plain data for ``kernel.explain()``, a list a topic. facts: what an
    earlier pass found out for a later one, by name.
    """

    target: Target
    capabilities: Capabilities
    implementations: Sequence[TileOpImpl] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    report: dict[str, list[Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

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


def edited(steps: Sequence[Pass | Gap], edits: Sequence[PassEdit], owner: str) -> list[Pass]:
    """The pipeline with a backend's edits; gaps that nothing fills vanish. ``owner`` is named when an edit is wrong."""
    pipeline: list[Pass | Gap] = list(steps)
    for edit in edits:
        names = [step.name for step in pipeline]
        if edit.at not in names:
            raise PluginError(
                f"{owner} edits the pipeline at {edit.at!r}, which is not there", expected="one of " + ", ".join(names)
            )
        at = names.index(edit.at)
        if edit.action == "insert" and edit.step is not None:
            pipeline.insert(at if edit.where == "before" else at + 1, edit.step)
        elif edit.action == "replace" and edit.step is not None and isinstance(pipeline[at], Pass):
            pipeline[at] = edit.step
        elif edit.action == "remove" and isinstance(pipeline[at], Pass):
            del pipeline[at]
        else:
            raise PluginError(
                f"{owner} makes a pipeline edit that means nothing",
                found=str(edit),
                expected="insert, replace or remove",
            )
    return [step for step in pipeline if isinstance(step, Pass)]
