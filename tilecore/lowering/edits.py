"""Applies the edits of a backend to the pipeline of its family."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence

from tilecore.caller import levels_to_user
from tilecore.contract.origin import Origin, title
from tilecore.contract.passes import ExtensionPoint, Pass, PassEdit
from tilecore.errors import PluginError
from tilecore.nearest import nearest
from tilecore.plugins.checking import wrong

# passes that left a family, each with the feature that switched it on, and what a backend has to do now
MOVED = {
    "add_branch_barriers": (
        "closed_branches",
        "it is in examples/backends/tile-opencl now: take it into the package and insert it after insert_barriers",
    )
}
IN_ORDER_SINCE = 2  # the first contract version in which passes inserted after one pass run in the order written


def edited(
    steps: Sequence[Pass | ExtensionPoint], edits: Sequence[PassEdit], owner: Origin, contract: int
) -> list[Pass]:
    """The pipeline after a backend's edits, without extension points.

    owner: the origin that the PluginError for a wrong edit names. contract: the contract version of the backend.
    """
    return [step for step in edited_with_points(steps, edits, owner, contract) if isinstance(step, Pass)]


def edited_with_points(
    steps: Sequence[Pass | ExtensionPoint], edits: Sequence[PassEdit], owner: Origin, contract: int
) -> list[Pass | ExtensionPoint]:
    """The pipeline after a backend's edits, with the extension points of the family."""
    pipeline = _Pipeline(steps, owner, in_order=contract >= IN_ORDER_SINCE)
    for edit in edits:
        pipeline.apply(edit)
    return pipeline.steps


def warn_of_moved(steps: Sequence[Pass], features: Collection[str], owner: Origin) -> None:
    """Warns if a target names the feature of a pass that left its family, and its pipeline has no pass of that name."""
    names = {step.name for step in steps}
    for name, (feature, remedy) in MOVED.items():
        if feature in features and name not in names:
            text = f"{title(owner)}: its feature {feature!r} needs the pass {name}, which left the family; {remedy}"
            warnings.warn(text, DeprecationWarning, stacklevel=levels_to_user())


class _Pipeline:
    def __init__(self, steps: Sequence[Pass | ExtensionPoint], owner: Origin, in_order: bool) -> None:
        self.steps, self.owner, self.in_order = list(steps), owner, in_order
        self.inserted_after: dict[
            str, list[Pass]
        ] = {}  # by the name of the pass or extension point, in the order written

    def apply(self, edit: PassEdit) -> None:
        at = self._index(edit)
        if edit.action == "insert" and edit.step is not None:
            self._insert(at, edit.step, edit)
        elif edit.action == "replace" and edit.step is not None and isinstance(self.steps[at], Pass):
            self.steps[at] = edit.step
        elif edit.action == "remove" and edit.step is None and isinstance(self.steps[at], Pass):
            del self.steps[at]
        else:
            expected = "a pass to insert at an extension point or a pass, a new pass for a pass, or a pass to remove"
            raise self._wrong("it makes an invalid pipeline edit", str(edit), expected)

    def _insert(self, at: int, step: Pass, edit: PassEdit) -> None:
        if edit.where == "before":
            self.steps.insert(at, step)
            return
        self.steps.insert(self._last_after(at) + 1 if self.in_order else at + 1, step)
        self.inserted_after.setdefault(edit.at, []).append(step)

    def _last_after(self, at: int) -> int:
        """Index of the last step that was inserted after the step at index ``at``, or after one of those."""
        last = at
        for step in self.inserted_after.get(self.steps[at].name, ()):
            if step in self.steps:
                last = max(last, self._last_after(self.steps.index(step)))
        return last

    def _index(self, edit: PassEdit) -> int:
        names = [step.name for step in self.steps]
        if edit.at in names:
            return names.index(edit.at)
        close = nearest(edit.at, names)
        expected = f"{close!r}, or another of " if close else "one of "
        if edit.at in MOVED:
            expected = f"another pass or extension point ({MOVED[edit.at][1]}): one of "
        message = f"it edits the pipeline at {edit.at!r}, which the pipeline does not have"
        raise self._wrong(message, repr(edit.at), expected + ", ".join(names))

    def _wrong(self, message: str, names: str, expected: str) -> PluginError:
        return wrong(self.owner, f"Lowering.edits: {message}", names, expected)
