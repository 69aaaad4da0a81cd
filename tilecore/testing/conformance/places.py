"""Where kernels run: targets, and the execution backend of each."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tilecore import settings
from tilecore.contract.adapter import SIMULATED, KernelAdapter
from tilecore.errors import PluginError
from tilecore.jit.execution_names import is_usual_name
from tilecore.plugins import manager
from tilecore.plugins.isolation import PluginWarning

if TYPE_CHECKING:
    from tilecore.target import Target

VARIABLE = "TILECORE_TEST_TARGETS"
FURTHER = "TILECORE_TEST_FURTHER"  # places for some groups alone: "target@backend=gemm+math", separated by commas


class Place(str):
    """A target to run kernels on, and the execution backend that does it; None: the one that is chosen by itself."""

    backend: str | None

    def __new__(cls, target: str, backend: str | None = None) -> Place:
        place = super().__new__(cls, target)
        place.backend = backend
        return place

    def __eq__(self, other: object) -> bool:
        """As a text the target alone; pytest keeps what is equal, so that places tell their backends apart."""
        return str.__eq__(self, other) is True and (not isinstance(other, Place) or self.backend == other.backend)

    __hash__ = str.__hash__

    @property
    def words(self) -> str:
        return f"{self}@{self.backend}" if self.backend else str(self)

    def adapter(self) -> Any:
        """The execution backend that runs kernels here; None where none can."""
        backend, target = manager.resolve(str(self))
        if self.backend and not is_usual_name(self.backend, backend.adapters):  # "auto" chooses, like no name
            return backend.adapters.get(self.backend)
        preferred_name = settings.execution_backend()
        if preferred_name in backend.adapters:
            return backend.adapters[preferred_name]
        runnable = [adapter for adapter in backend.adapters.values() if _runs(adapter, target)]
        simulated = [adapter for adapter in runnable if adapter.name == SIMULATED]
        prefers = settings.simulate() and simulated
        return simulated[0] if prefers else next(iter(runnable), None)

    @property
    def is_simulated(self) -> bool:
        adapter = self.adapter()
        return adapter is not None and (adapter.name == SIMULATED or _is_simulator(adapter))


def place(words: str) -> Place:
    """``target`` or ``target@execution backend``."""
    target, _, backend = words.strip().partition("@")
    return Place(target.strip(), backend.strip() or None)


def places() -> list[Place]:
    """Those of TILECORE_TEST_TARGETS (separated by commas); else for each kind the execution backend that is chosen for
    it here, if any, and its other simulators; not those that TILECORE_TEST_FURTHER names."""
    names = os.environ.get(VARIABLE, "")
    if names:
        return [place(words) for words in names.split(",")]
    listed = []
    for kind in manager.kinds():
        try:
            listed += list(_of_kind(kind))
        except PluginError as error:
            warnings.warn(f"no case is run on {kind}: {error.message}", PluginWarning, stacklevel=2)
    for_some = [listed_place for listed_place, _ in _further()]
    return [listed_place for listed_place in listed if listed_place not in for_some]


def further(group: str) -> list[Place]:
    """Those that TILECORE_TEST_FURTHER names for a group of cases."""
    return [further_place for further_place, groups in _further() if group in groups]


def _further() -> list[tuple[Place, list[str]]]:
    entries = (words.rpartition("=") for words in os.environ.get(FURTHER, "").split(",") if words)
    return [(place(words), groups.split("+")) for words, _, groups in entries]


def _of_kind(kind: str) -> Iterator[Place]:
    backend, target = manager.resolve(kind)
    runnable = [adapter for adapter in backend.adapters.values() if _runs(adapter, target)]
    for number, adapter in enumerate(runnable):
        if number == 0:
            yield Place(kind)
        elif _is_simulator(adapter):
            yield Place(kind, adapter.name)


# The cases of registration tell of an execution backend that breaks when it is asked.


def _runs(adapter: KernelAdapter, target: Target) -> bool:
    try:
        return adapter.available(target).present
    except PluginError:
        return False


def _is_simulator(adapter: KernelAdapter) -> bool:
    try:
        return adapter.largest_run() is not None
    except PluginError:
        return False
