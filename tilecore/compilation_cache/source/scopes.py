"""Models Python's scopes: where names are bound, and which names come from outside a function."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Read:
    """One read of a name from outside.

    order_free: the value is only searched, counted or sorted, so that the order of a set does not matter.
    module: for a name that an import inside the function binds, the module that is imported (and ``attributes``
    begins with what is taken from it).
    """

    name: str
    attributes: tuple[str, ...]
    order_free: bool = False
    module: str | None = None


class Scope:
    """The names of one function, class body or comprehension."""

    __slots__ = ("bound", "globals", "imports", "kind", "loads", "nonlocals", "parent", "problem")

    def __init__(self, kind: str, parent: Scope | None) -> None:
        self.kind = kind  # "function", "class" or "comprehension"
        self.parent = parent
        self.bound: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.imports: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.loads: set[tuple[str, tuple[str, ...], bool]] = set()
        self.problem: str | None = None

    def import_name(self, name: str, module: str, attributes: tuple[str, ...]) -> None:
        """An import binds ``name`` to ``module``, or to what ``attributes`` lead to in it."""
        if self.imports.setdefault(name, (module, attributes)) != (module, attributes):
            self.problem = f"{name} is imported from two places"

    def outside(self) -> list[Read]:
        """What this scope reads that no scope around it, within the function, binds."""
        return [read for load in self.loads for read in self._resolve(*load)]

    def _resolve(self, name: str, attributes: tuple[str, ...], order_free: bool) -> list[Read]:
        outside = [Read(name, attributes, order_free)]
        if name in self.globals:
            return outside
        if self.kind == "class" and (name in self.bound or name in self.imports):
            # such a name falls back to the scopes around when the class body has not bound it yet
            return [*self._bound_here(name, attributes, order_free), *outside]
        at: Scope | None = self
        while at is not None:
            if name in at.globals:
                return outside
            visible = at is self or at.kind != "class"
            if visible and name not in at.nonlocals and (name in at.bound or name in at.imports):
                return at._bound_here(name, attributes, order_free)
            at = at.parent
        return outside

    def _bound_here(self, name: str, attributes: tuple[str, ...], order_free: bool) -> list[Read]:
        if name not in self.imports:
            return []
        if name in self.bound:
            self.problem = f"{name} is both imported and assigned"
        module, imported = self.imports[name]
        return [Read(name, (*imported, *attributes), order_free, module)]
