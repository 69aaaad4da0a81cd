"""The environment of implementations that are lowered into the code of one thread (``TileOpImpl.late``)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tilecore.contract.former_facts import FormerFacts
from tilecore.contract.passes import PassEnv
from tilecore.lowering.simt.tile_ops.thread_registers import Binding


@dataclass(kw_only=True)
class ThreadEnv(PassEnv):
    """The pass environment of bind_threads and, in ``binding``, the threads that execute the operation."""

    binding: Binding

    def __post_init__(self) -> None:
        facts = self.facts.entries if isinstance(self.facts, FormerFacts) else self.facts
        self.facts = FormerFacts(self.states, facts, {"binding": self.binding})


def thread_env(env: PassEnv, binding: Binding) -> ThreadEnv:
    """The environment for an operation that the threads of ``binding`` execute; it shares the rest with ``env``."""
    return ThreadEnv(**{field.name: getattr(env, field.name) for field in fields(PassEnv)}, binding=binding)
