"""Defines passes, the environment that they run in, and the edits by which a backend changes a family's pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.contract.former_facts import FormerFacts
from tilecore.contract.state import PassState, PassStates, State
from tilecore.former_attributes import former_attributes

if TYPE_CHECKING:
    from tilecore.contract.implementation import TileOpImpl
    from tilecore.contract.records import Capabilities
    from tilecore.errors import TilecoreError
    from tilecore.ir.nodes import PrimFunc
    from tilecore.target import Target


@dataclass
class PassEnv:
    """The environment of a pass: what it may read, and the report that it adds to.

    config: pass configuration by key. report: plain data for ``kernel.explain()``, one list per topic. facts:
    deprecated; a backend's own results of earlier passes for later ones, by name. refusals: the list for errors after
    which a pass can continue; None: the first error is raised. states: what passes have published (``state``).
    """

    target: Target
    capabilities: Capabilities
    implementations: Sequence[TileOpImpl] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    report: dict[str, list[Any]] = field(default_factory=dict)
    facts: MutableMapping[str, Any] = field(default_factory=dict)
    refusals: list[TilecoreError] | None = None
    states: PassStates = field(default_factory=PassStates, repr=False)

    def __post_init__(self) -> None:
        self.facts = FormerFacts(self.states, self.facts, {})

    def state(self, kind: type[State]) -> State:
        """What an earlier pass has published as an instance of ``kind``; a LoweringError where none has."""
        return self.states.get(kind)

    def find_state(self, kind: type[State]) -> State | None:
        """As ``state``; None where no pass has published it."""
        return self.states.find(kind)

    def publish(self, state: PassState) -> None:
        """Publish a result of this pass for later ones, which get it by its type."""
        self.states.put(state)

    def refuse(self, error: TilecoreError) -> None:
        """Raise the error; where ``refusals`` is a list, append the error to it and return."""
        if self.refusals is None:
            raise error
        self.refusals.append(error)

    def note(self, topic: str, entry: Any) -> None:
        """Append one entry to the report's list for ``topic``."""
        self.report.setdefault(topic, []).append(entry)


@dataclass(frozen=True)
class Pass:
    """A named pass. ``run`` takes and returns a PrimFunc; the last pass of a family may return an IRModule.

    needs: the classes of state that it reads. leaves: those that it publishes or adds to. runs_implementations: whether
    it calls implementations of tile operations, which declare state of their own.
    """

    name: str
    run: Callable[[PrimFunc, PassEnv], Any]
    needs: tuple[type[PassState], ...] = ()
    leaves: tuple[type[PassState], ...] = ()
    runs_implementations: bool = False


@dataclass(frozen=True)
class ExtensionPoint:
    """A named place in a family's pipeline where backends insert passes."""

    name: str


@dataclass(frozen=True)
class PassEdit:
    """One change of a family's pipeline.

    action: "insert" (``at`` names an extension point, or a pass to insert "before" or "after"), "replace" or "remove"
    (``at`` names a pass). where: "before" or "after", for an insertion at a pass. Passes that are inserted at one place
    run in the order in which the edits are written. (Under contract 1, those after a place ran in the reverse order.)
    """

    action: str
    at: str
    step: Pass | None = None
    where: str = "after"


# contract 1
__getattr__ = former_attributes(__name__, {"Gap": (f"{__name__}.ExtensionPoint", ExtensionPoint)})
