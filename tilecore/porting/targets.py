"""What a target does not have of the names that a program uses: operations, element types, names of other chips."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import ALIASES, FACTS, nearest_types
from tilecore.ir.tile_op_table import TILE_OPS
from tilecore.plugins import manager

_SOURCE = frozenset({"call_extern", "call_pure_extern", "import_source"})


def refused_on_every_target(path: tuple[str, ...]) -> tuple[str, str] | None:
    """(why, what to write instead) of a name of the language that no target of its backend has; None for others."""
    if len(path) != 2 or path[0] != "language":
        return None
    name = path[1]
    for offer in manager.offers():
        if name in offer.language and name in (refused := manager.target_spec(offer.kind).refused_names(None)):
            return _sentence(name, refused[name])
    return None


def _sentence(name: str, refusal: tuple[str, str]) -> tuple[str, str]:
    why, instead = refusal
    return f"T.{name} {why}", instead


class ChosenTarget:
    """The target of ``tilecore port --target``: what its backend declares. Raises TargetError for an unknown one."""

    def __init__(self, target: Any) -> None:
        backend, self.target = manager.resolve(target)
        self.kind = backend.kind
        self.capabilities = backend.target.capabilities(self.target)
        self.own_names = set(backend.target.language)
        self.refused_names = backend.target.refused_names(self.target)
        self.names_of_others = {name: offer.kind for offer in manager.offers() for name in offer.language}
        self.operations = _operations()

    def refusal(self, path: tuple[str, ...]) -> tuple[str, str] | None:
        """(what the target does not have, what to write instead) of a name of the language; None where it has it."""
        if len(path) != 2 or path[0] != "language":
            return None
        name = path[1]
        if name in self.names_of_others and name not in self.own_names:
            return f"T.{name} is a name of target {self.names_of_others[name]}, not of {self.kind}", _report(self.kind)
        if name in self.refused_names:
            return _sentence(name, self.refused_names[name])
        kind = ALIASES.get(name, name)
        if kind in FACTS and self.capabilities.dtypes and kind not in self.capabilities.dtypes:
            near = ", ".join(nearest_types(kind, self.capabilities.dtypes))
            return f"target {self.kind} does not have the element type {kind}", f"the nearest: {near}" if near else ""
        return self._refused_operation(name)

    def _refused_operation(self, name: str) -> tuple[str, str] | None:
        features = self.capabilities.features
        if name in _SOURCE and features and "source" not in features:
            return f"target {self.kind} compiles no source text", "write the function in the tile language"
        operation = self.operations.get(name)
        if operation is None:
            return None
        op = TILE_OPS[operation]
        is_missing = bool(self.capabilities.tile_ops) and operation not in self.capabilities.tile_ops
        if is_missing or (op.feature and features and op.feature not in features):
            return f"target {self.kind} does not have T.{name}", op.instead or _report(self.kind)
        return None


def _report(kind: str) -> str:
    return f"`tilecore explain FILE --targets {kind}` compiles the kernels and names the nearest legal change"


def _operations() -> dict[str, str]:
    """The names of the language that are tile operations, with the operation."""
    names: dict[str, str] = {}
    for op in TILE_OPS.values():
        if op.internal:
            continue
        spellings = [op.spelling] if op.spelling and "{" not in op.spelling else []
        spellings += [name for _, name in op.spellings] + ([op.name] if op.module else [])
        names |= dict.fromkeys((name.removeprefix("T.") for name in spellings), op.name)
    return names
