"""What a target does not have of the names that a program uses: operations, element types, names of other chips.

What to write instead is in the words of the compiler, which has them in tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from tilecore.contract.alternatives import instead_of, instead_of_feature
from tilecore.contract.records import Capabilities, TargetSpec
from tilecore.dtypes import ALIASES, FACTS, nearest_types
from tilecore.errors import TilecoreError
from tilecore.ir.names import LEAVE_THE_CHOICE
from tilecore.ir.tile_op_table import TILE_OPS
from tilecore.language.foreign import missing
from tilecore.plugins import manager

_WHERE_SOURCE = "where the target compiles source"
_SOURCE = frozenset({"call_extern", "call_pure_extern", "import_source"})
Refusal = tuple[str, str]  # what the target does not have, and what to write instead or ""


def refused_on_every_target(path: tuple[str, ...]) -> Refusal | None:
    """The refusal of a name of the language that no target of its backend has; None for others."""
    if len(path) != 2 or path[0] != "language":
        return None
    name = path[1]
    for offer in manager.offers():
        if name in offer.language and name in (refused := manager.target_spec(offer.kind).refused_names(None)):
            return _sentence(name, refused[name])
    return None


def _sentence(name: str, refusal: tuple[str, str]) -> Refusal:
    why, instead = refusal
    return f"T.{name} {why}", instead


class ChosenTarget:
    """The target of ``tilecore port --target``: what its backend declares. Raises TargetError for an unknown one."""

    def __init__(self, target: Any) -> None:
        backend, self.target = manager.resolve(target)
        self.kind = backend.kind
        self.capabilities = backend.target.capabilities(self.target)
        self.torch_device = backend.target.torch_device
        self.own_names = set(backend.target.language)
        self.refused_names = backend.target.refused_names(self.target)
        self.owners: dict[str, list[str]] = {}  # of names that backends add to the language: their kinds
        for offer in manager.offers():
            for name in offer.language:
                self.owners.setdefault(name, []).append(offer.kind)

    @cached_property
    def torch_devices(self) -> frozenset[str]:
        """Torch's names of the devices of all installed targets."""
        return frozenset(spec.torch_device for spec in _specs())

    def refusal(self, path: tuple[str, ...]) -> Refusal | None:
        """The refusal of a name of the language; None where the target has it."""
        if len(path) != 2 or path[0] != "language":
            return None
        name = path[1]
        if name in self.owners and name not in self.own_names:
            return refused_on_every_target(path) or self._name_of_others(name)
        if name in self.refused_names:
            return _sentence(name, self.refused_names[name])
        kind = ALIASES.get(name, name)
        if kind in FACTS and self.capabilities.dtypes and kind not in self.capabilities.dtypes:
            near = ", ".join(nearest_types(kind, self.capabilities.dtypes))
            problem = f"target {self.kind} does not have the element type {kind}"
            return problem, f"the nearest: {near}; T.copy converts" if near else ""
        return self._refused_operation(name)

    def _name_of_others(self, name: str) -> Refusal:
        owners = " or ".join(repr(kind) for kind in self.owners[name])
        advice = getattr(missing(name, []), "hint", None) or LEAVE_THE_CHOICE
        if "source" not in self.capabilities.features:
            advice = "; ".join(part for part in advice.split("; ") if not part.startswith(_WHERE_SOURCE))
        return f"T.{name} belongs to the target {owners}: target {self.kind} does not have it", advice

    def _refused_operation(self, name: str) -> Refusal | None:
        features = self.capabilities.features
        if name in _SOURCE and features and "source" not in features:
            problem = f"T.{name} is for targets that compile source text, which target {self.kind} does not"
            return self._with_others(problem, lambda other: "source" in other.features, instead_of_feature("source"))
        operations = _operations_of(name)
        if not operations or _has_one(self.capabilities, operations):
            return None
        advice = instead_of(operations[0]) or instead_of_feature(TILE_OPS[operations[0]].feature)
        problem = f"target {self.kind} does not have T.{name}"
        return self._with_others(problem, lambda other: _has_one(other, operations), advice)

    def _with_others(self, problem: str, has: Callable[[Capabilities], bool], advice: str | None) -> Refusal:
        """The problem with the installed targets that do not have it."""
        others = [kind for kind, capabilities in self._others.items() if has(capabilities)]
        listed = " and ".join([", ".join(others[:-1]), others[-1]] if len(others) > 1 else others)
        verb = "does" if len(others) == 1 else "do"
        return f"{problem}; {listed} {verb}" if others else problem, advice or ""

    @cached_property
    def _others(self) -> dict[str, Capabilities]:
        """What the other installed targets can do, by kind, each with its default attributes."""
        capabilities = {}
        for spec in _specs():
            if spec.kind != self.kind:
                with suppress(TilecoreError):
                    capabilities[spec.kind] = spec.capabilities(manager.resolve(spec.kind)[1])
        return capabilities


def _has_one(capabilities: Capabilities, operations: Sequence[str]) -> bool:
    """Whether a target has one of the operations, with the feature that it needs."""
    usable = [op for op in operations if op in capabilities.tile_ops or not capabilities.tile_ops]
    features = [TILE_OPS[op].feature for op in usable]
    return any(not feature or not capabilities.features or feature in capabilities.features for feature in features)


def _specs() -> Iterator[TargetSpec]:
    """What the working backends declare."""
    for kind in manager.kinds():
        with suppress(TilecoreError):
            yield manager.target_spec(kind)


def _operations_of(name: str) -> list[str]:
    """The tile operations that ``T.<name>`` may be: several have the name ``atomic_{kind}``."""
    operations = []
    for op in TILE_OPS.values():
        stem, has_kind, _ = op.spelling.partition("{")
        spellings = {other.removeprefix("T.") for _, other in op.spellings} | ({op.name} if op.module else set())
        if not op.internal and (name in spellings or name == op.spelling or (has_kind and name.startswith(stem))):
            operations.append(op.name)
    return operations
