"""State between passes: results of one pass that later passes read, as dataclasses with the type as the key.

A class of state derives from :class:`PassState` and names the pass that creates it. ``PassEnv.publish`` publishes an
instance, ``PassEnv.state`` returns it. With TILECORE_CHECK=1 a pass may only read what it declares in
``Pass.needs`` and only publish what it declares in ``Pass.leaves``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from tilecore.contract.former_facts import FORMER_KEYS
from tilecore.errors import LoweringError

if TYPE_CHECKING:
    from tilecore.ir.nodes import Var


class PassState:
    """The base of every class of state.

    The arguments of a class definition: ``by``, the pass that creates it (one for each family that has such a pass).
    ``collected=True`` instead: several passes add to one instance, which the first use creates. ``former``: fields by
    the keys that they had in ``PassEnv.facts``.
    """

    created_by: ClassVar[tuple[str, ...]] = ()
    is_collected: ClassVar[bool] = False
    former_keys: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(
        cls, by: str | tuple[str, ...] = (), collected: bool = False, former: Mapping[str, str] | None = None
    ) -> None:
        super().__init_subclass__()
        cls.created_by = (by,) if isinstance(by, str) else by
        cls.is_collected = collected
        cls.former_keys = dict(former or {})
        FORMER_KEYS.update(dict.fromkeys(cls.former_keys, cls))


State = TypeVar("State", bound=PassState)


@dataclass
class PassStates:
    """The state of one lowering, by type.

    running: the name of the pass that runs; empty outside of a pipeline. needs, leaves: what it declares; None: it is
    not checked.
    """

    by_type: dict[type[PassState], PassState] = field(default_factory=dict)
    authors: dict[type[PassState], str] = field(default_factory=dict)
    running: str = ""
    needs: Collection[type[PassState]] | None = None
    leaves: Collection[type[PassState]] | None = None

    def begin(
        self,
        name: str,
        needs: Collection[type[PassState]] | None = None,
        leaves: Collection[type[PassState]] | None = None,
    ) -> None:
        """The pass ``name`` begins; its accesses are checked where ``needs`` and ``leaves`` are given."""
        self.running, self.needs, self.leaves = name, needs, leaves

    def find(self, kind: type[State]) -> State | None:
        """The instance of a class; None where no pass has published one."""
        self._check_read(kind)
        if kind not in self.by_type and kind.is_collected:
            self.by_type[kind] = kind()
        return cast("State | None", self.by_type.get(kind))

    def get(self, kind: type[State]) -> State:
        """The instance of a class; a LoweringError where no pass has published one."""
        instance = self.find(kind)
        if instance is not None:
            return instance
        authors = " or ".join(kind.created_by)
        raise LoweringError(
            f"{_who(self.running)} reads {kind.__name__}, which no pass has published",
            expected=f"pass {authors} before it" if authors else "a pass before it that publishes it",
            hint="put the pass into the pipeline, or publish the state with env.publish",
        )

    def put(self, instance: PassState) -> None:
        """Publish an instance, whose type is the key."""
        kind = type(instance)
        if self.leaves is not None and kind not in self.leaves:
            raise LoweringError(
                f"{_who(self.running)} publishes {kind.__name__}, which it does not declare",
                found=f"leaves: {_names(self.leaves)}",
                hint=f"add {kind.__name__} to the leaves of the Pass (or TileOpImpl)",
            )
        author = self.authors.get(kind, "")
        if author and self.running and author != self.running:
            raise LoweringError(
                f"{_who(self.running)} publishes {kind.__name__}, which pass {author} has published",
                expected="one pass that publishes each class of state",
                hint="change the published instance, or publish a class of its own",
            )
        self.by_type[kind] = instance
        self.authors[kind] = self.running

    def _check_read(self, kind: type[PassState]) -> None:
        if self.needs is None or kind in self.needs or kind in (self.leaves or ()):
            return
        raise LoweringError(
            f"{_who(self.running)} reads {kind.__name__}, which it does not declare",
            found=f"needs: {_names(self.needs)}",
            hint=f"add {kind.__name__} to the needs of the Pass (or TileOpImpl)",
        )


def _who(running: str) -> str:
    return f"pass {running}" if running else "a pass"


def _names(kinds: Collection[type[PassState]]) -> str:
    return ", ".join(sorted(kind.__name__ for kind in kinds)) or "nothing"


# -- what backends may read or write ----------------------------------------------------------------------------------


@dataclass
class BufferLayouts(PassState, by=("choose_tile_ops", "lower_tile_ops"), former={"layouts": "by_buffer"}):
    """The layouts that shared buffers get: those that the chosen implementations and the kernel ask for.

    Created by choose_tile_ops (SIMT) or lower_tile_ops (loops); an implementation that allocates a buffer while it is
    lowered adds that buffer's. Read by apply_layouts, which puts them into every access, by implementations, and by
    ``JITKernel.layouts``.
    """

    by_buffer: dict[Var, Any] = field(default_factory=dict)  # values: tilecore.ir.layout.BufferLayout


@dataclass
class SharedRequests(PassState, collected=True, former={"shared_alignment": "alignment", "shared_alone": "alone"}):
    """What buffers ask of their place in shared memory.

    Added to by apply_layouts and by passes of backends before plan_shared, which reads it. alignment: bytes, of buffers
    that need more than 128. alone: buffers that share their memory with no other. all_alone: no buffers share memory,
    since asynchronous work uses them.
    """

    alignment: dict[Var, int] = field(default_factory=dict)
    alone: set[Var] = field(default_factory=set)
    all_alone: bool = False


@dataclass
class Workspaces(PassState, by="outline_kernels", former={"workspaces": "buffers"}):
    """The buffers of T.alloc_global, in the order of the artifact's slots.

    Published by outline_kernels, or by the pass of a backend that replaces it. Read by the compiler, which records them
    in the artifact.
    """

    buffers: list[Var] = field(default_factory=list)


@dataclass
class ParameterAlignments(PassState, by="vectorize_accesses"):
    """The bytes of which the addresses of parameters must be multiples, by the parameters' names, because accesses move
    several elements at once. Parameters that are not named may begin at any element.

    Published by vectorize_accesses. Read by the compiler, which records them in the artifact; calls check them.
    """

    bytes_of: dict[str, int] = field(default_factory=dict)
