"""Passes: named steps from tile IR to target IR, and how a backend edits the list of a family by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.errors import TilecoreError
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.contract.implementation import TileOpImpl
    from tilecore.contract.records import Capabilities
    from tilecore.ir.nodes import PrimFunc


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
    pass). where: "before" or "after", for an insertion at a pass. Passes that are inserted at one place run in the
    order in which the edits are written. (Under contract 1, those after a place ran in the reverse order.)
    """

    action: str
    at: str
    step: Pass | None = None
    where: str = "after"
