"""Lists the passes that a kernel goes through on a target, in the order in which they run."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tilecore.contract.passes import ExtensionPoint, Pass
from tilecore.lowering.declared_state import leaves_of, needs_of
from tilecore.lowering.edits import edited_with_points
from tilecore.lowering.normalize.contract_sums import CONTRACT_SUMS
from tilecore.lowering.pipeline import family_steps
from tilecore.lowering.tile_ops.registry import implementations_of

if TYPE_CHECKING:
    from tilecore.contract.implementation import TileOpImpl
    from tilecore.contract.records import Backend


@dataclass(frozen=True)
class ListedStep:
    """A pass, or an extension point (``is_point``), as ``tilecore passes`` shows it.

    package: the Python package that the pass comes from. module: where it is defined. does: one sentence.
    needs, leaves: the classes of state that it reads and those that it publishes or adds to, itself or by the
    implementations that it calls.
    """

    name: str
    package: str = ""
    module: str = ""
    does: str = ""
    is_point: bool = False
    needs: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


def listed_steps(backend: Backend) -> list[ListedStep]:
    """Passes and extension points of a backend's pipeline, in order."""
    family = family_steps(backend.lowering.family)
    steps = edited_with_points(family, backend.lowering.edits, backend, backend.target.contract)
    implementations = implementations_of(backend)
    return [_listed(step, implementations) for step in (CONTRACT_SUMS, *steps)]


def family_list(name: str) -> list[ListedStep]:
    """Passes and extension points of a family ("loops", "simt"), as backends find them."""
    return [_listed(step, ()) for step in (CONTRACT_SUMS, *family_steps(name))]


def _listed(step: Pass | ExtensionPoint, implementations: Sequence[TileOpImpl]) -> ListedStep:
    if isinstance(step, ExtensionPoint):
        return ListedStep(step.name, is_point=True)
    function = inspect.unwrap(step.run)
    module = getattr(function, "__module__", "") or ""
    text = inspect.getdoc(function) or getattr(sys.modules.get(module), "__doc__", None) or ""
    needs, leaves = needs_of(step, implementations), leaves_of(step, implementations)
    return ListedStep(
        step.name,
        module.partition(".")[0],
        module,
        first_sentence(text),
        needs=tuple(kind.__name__ for kind in needs),
        leaves=tuple(kind.__name__ for kind in leaves),
    )


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    words = text.split("\n\n", 1)[0].split()
    ends = (number for number, (word, following) in enumerate(pairwise(words)) if _ends(word, following))
    return " ".join(words[: next(ends, len(words)) + 1])


def _ends(word: str, following: str) -> bool:
    return word.rstrip(")").endswith(".") and following[:1].isupper()


def as_rows(steps: Sequence[ListedStep]) -> list[dict[str, Any]]:
    """Plain data, for JSON: ``kind`` is "pass" or "extension point"."""
    kinds = {True: "extension point", False: "pass"}
    return [
        {
            "kind": kinds[s.is_point],
            "name": s.name,
            "package": s.package,
            "module": s.module,
            "does": s.does,
            "needs": list(s.needs),
            "leaves": list(s.leaves),
        }
        for s in steps
    ]
