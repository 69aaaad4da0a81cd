"""Schedules of warp specialization (T.WSSchedule): which warps do what, and how deep the pipelines between them are.

A schedule changes the speed of a kernel and never its result: the kernel does what its code says without it. Of a
schedule the compiler takes how far copies run ahead: a loop whose scope synchronizes on a pipeline becomes a
T.Pipelined loop of the pipeline's depth. Which warps copy and which compute, with how many registers, the target
chooses by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from tilecore.errors import LanguageError
from tilecore.language.buffers import BufferHandle
from tilecore.language.integers import whole_number
from tilecore.language.kernel import open_kernel
from tilecore.tracing.current import active, current

WSID = "tl.ws_op_id"  # the key of ``annotations=`` with the name of an operation or a loop
WARPS_OF_GROUP = 4
_FACT = "warp_schedule"  # of the kernel's frame


class WSSyncKind(Enum):
    """What a T.WSSync does: the producer of a pipeline waits for free memory and shows that it has filled it, the
    consumer waits for filled memory and shows that it is free."""

    PRODUCER_ACQUIRE = "producer_acquire"
    PRODUCER_COMMIT = "producer_commit"
    CONSUMER_WAIT = "consumer_wait"
    CONSUMER_RELEASE = "consumer_release"


class WSInstr:
    """A step of a role."""


@dataclass(frozen=True)
class WSOpRef(WSInstr):
    """The operation or the loop of this name."""

    id: str


@dataclass(frozen=True)
class WSSync(WSInstr):
    """A synchronization on the pipeline of this name, ``stage`` iterations behind the first."""

    kind: WSSyncKind
    pipeline: str
    stage: int = 0

    @classmethod
    def producer_acquire(cls, pipeline: str, stage: int = 0) -> WSSync:
        """The producer waits for free memory."""
        return cls(WSSyncKind.PRODUCER_ACQUIRE, pipeline, stage)

    @classmethod
    def producer_commit(cls, pipeline: str, stage: int = 0) -> WSSync:
        """The producer shows that it has filled the memory."""
        return cls(WSSyncKind.PRODUCER_COMMIT, pipeline, stage)

    @classmethod
    def consumer_wait(cls, pipeline: str, stage: int = 0) -> WSSync:
        """The consumer waits for filled memory."""
        return cls(WSSyncKind.CONSUMER_WAIT, pipeline, stage)

    @classmethod
    def consumer_release(cls, pipeline: str, stage: int = 0) -> WSSync:
        """The consumer shows that the memory is free."""
        return cls(WSSyncKind.CONSUMER_RELEASE, pipeline, stage)


@dataclass(frozen=True)
class WSRole:
    """The warps from ``warps_lo`` to before ``warps_hi``. max_nreg: registers of each of their threads; 0: any."""

    name: str
    warps_lo: int = field(kw_only=True)
    warps_hi: int = field(kw_only=True)
    max_nreg: int = field(default=0, kw_only=True)


@dataclass(frozen=True)
class WSPipeline:
    """Buffers of which ``depth`` versions exist."""

    name: str
    buffers: Sequence[Any]
    depth: int


class WSScope:
    """The steps of each role in the loop of this name, or in the kernel (ROOT). Texts stand for T.WSOpRef."""

    ROOT: ClassVar[str] = "tl.ws_scope_root"

    def __init__(self, id: str, bodies: Mapping[str, Sequence[WSInstr | str]]) -> None:
        self.id = id
        self.bodies = {
            role: [WSOpRef(step) if isinstance(step, str) else step for step in steps] for role, steps in bodies.items()
        }


@dataclass(frozen=True)
class WSSchedule:
    """The schedule of a kernel. num_warps: of a block, a multiple of 4. Raises LanguageError where its parts name roles
    or pipelines that it does not have, or warps that belong to two roles."""

    num_warps: int
    roles: Sequence[WSRole]
    pipelines: Sequence[WSPipeline]
    scopes: Sequence[WSScope]

    def __post_init__(self) -> None:
        warps = whole_number(self.num_warps, "T.WSSchedule(num_warps=...)", 1)
        if warps % WARPS_OF_GROUP:
            raise LanguageError(f"T.WSSchedule: num_warps is {warps}", expected=f"a multiple of {WARPS_OF_GROUP}")
        taken: dict[int, str] = {}
        for role in self.roles:
            if not 0 <= role.warps_lo < role.warps_hi <= warps:
                raise LanguageError(
                    f"T.WSSchedule: role {role.name!r} has no warps of the block",
                    found=f"warps {role.warps_lo} to before {role.warps_hi}",
                    expected=f"a range of the {warps} warps",
                )
            for warp in range(role.warps_lo, role.warps_hi):
                if taken.setdefault(warp, role.name) != role.name:
                    raise LanguageError(f"T.WSSchedule: warp {warp} belongs to {taken[warp]!r} and to {role.name!r}")
        for pipeline in self.pipelines:
            whole_number(pipeline.depth, f"the depth of T.WSPipeline({pipeline.name!r})", 1)
        roles, pipelines = {r.name for r in self.roles}, {p.name for p in self.pipelines}
        for scope in self.scopes:
            _check_names(f"a role of T.WSScope({scope.id!r})", scope.bodies, roles)
            steps = (step for steps in scope.bodies.values() for step in steps)
            _check_names("a T.WSSync", [s.pipeline for s in steps if isinstance(s, WSSync)], pipelines)

    def depth_of(self, loop: str) -> int:
        """How many versions of their buffers those pipelines have on which the loop synchronizes; 1 for none."""
        scopes = [scope for scope in self.scopes if scope.id == loop]
        steps = [step for scope in scopes for steps in scope.bodies.values() for step in steps]
        names = {step.pipeline for step in steps if isinstance(step, WSSync)}
        return max((pipeline.depth for pipeline in self.pipelines if pipeline.name in names), default=1)


def _check_names(subject: str, names: Any, known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise LanguageError(
                f"{subject} names {name!r}, which the schedule does not have",
                expected=", ".join(sorted(known)) or "none",
            )


def annotate_ws_schedule(schedule: WSSchedule) -> None:
    """Gives the kernel a schedule, in front of the loops that it names. Hint: see the module."""
    if not isinstance(schedule, WSSchedule):
        raise LanguageError(
            "T.annotate_ws_schedule takes a schedule", found=type(schedule).__name__, expected="a T.WSSchedule"
        )
    for pipeline in schedule.pipelines:
        _check_buffers(f"T.WSPipeline({pipeline.name!r})", pipeline.buffers)
    open_kernel("T.annotate_ws_schedule").frame.facts[_FACT] = schedule


def annotate_ws_pipeline_depth(depth_map: Mapping[Any, int]) -> None:
    """A hint: of how many versions of each buffer a schedule that the compiler makes has memory. No target uses it."""
    open_kernel("T.annotate_ws_pipeline_depth")
    _check_buffers("T.annotate_ws_pipeline_depth", depth_map)
    for depth in depth_map.values():
        whole_number(depth, "a depth of T.annotate_ws_pipeline_depth", 1)


def _check_buffers(subject: str, buffers: Any) -> None:
    for buffer in buffers:
        if not isinstance(buffer, BufferHandle):
            raise LanguageError(f"{subject} has something that is not a buffer", found=repr(buffer)[:60])


def ws_op(op_id: str) -> AbstractContextManager[None]:
    """``with T.ws_op("name"):`` names the statements inside for a schedule."""
    current("T.ws_op")
    if not isinstance(op_id, str) or not op_id:
        raise LanguageError("T.ws_op takes a name", found=repr(op_id)[:60], expected="a text")
    return nullcontext()


def depth_of_loop(annotations: Mapping[str, Any]) -> int:
    """The number of stages that the kernel's schedule gives a loop with these annotations; 1 without one."""
    builder = active()
    if WSID not in annotations or builder is None:
        return 1
    kernel = builder.enclosing("kernel")
    schedule = None if kernel is None else kernel.facts.get(_FACT)
    return 1 if schedule is None else schedule.depth_of(str(annotations[WSID]))
