"""Defines jobs (kernels to compile) and the messages that send them to other processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.codegen.source_callbacks import registration_of
from tilecore.compilation_cache.versions import versions_for_key
from tilecore.errors import TilecoreError
from tilecore.jit.collection import collection_paused
from tilecore.jit.request import Request, build, ir_key
from tilecore.plugins import discovery, manager

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.compiler import CompileOptions


@dataclass
class Job:
    """A kernel's tile IR and the settings of its compilation. label: its name in messages. make_ir: builds the tile IR
    once more, where that is possible: then the kernel does not keep it. from_cache: a cache or a bundle has it."""

    label: str
    func: Any
    request: Request
    make_ir: Callable[[], Any] | None = None
    key: str = field(init=False)
    from_cache: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.key = ir_key(self.func, self.request)

    def build(self) -> Artifact:
        """Compile the kernel in this process."""
        with collection_paused():
            return build(self.func, self.request)

    def message(self) -> JobMessage:
        """The job as a message for another process."""
        from tilecore.ir.nodes import tvm

        request = self.request
        ir = str(tvm.ir.save_json(self.func))
        return JobMessage(ir, str(request.target), request.adapter, request.options, request.debug_root)

    def accepts(self, artifact: Artifact) -> bool:
        """Whether the artifact has this process's versions of tilecore and the backend, and the job's target.

        Sources may have been edited since this process imported them.
        """
        backend = self.request.backend
        same = dict(artifact.versions) == versions_for_key(
            backend.package, backend.version, backend.module, backend.registration
        )
        return same and artifact.target == str(self.request.target)


@dataclass(frozen=True)
class JobMessage:
    """A job for another process. ir: TVM's JSON, which keeps source locations. target: the resolved target as text."""

    ir: str
    target: str
    adapter: str
    options: CompileOptions
    debug_root: str | None


def build_message(message: JobMessage) -> Artifact:
    """Compile a job of another process."""
    backend, target = manager.resolve(message.target)
    from tilecore.ir import tile_ops  # noqa: F401 - the operations must be known before their calls are read
    from tilecore.ir.nodes import tvm

    request = Request(backend, target, message.adapter, message.options, message.debug_root)
    with collection_paused():
        return build(tvm.ir.load_json(message.ir), request)


def can_be_sent(request: Request) -> bool:
    """Whether another process can compile with this request: its backend is installed, its options can be pickled, and
    no function of this process changes its source."""
    kind = request.backend.kind
    if registration_of(kind):
        return False
    installed = discovery.discover().entries.get(kind, ())
    if not all(claim in installed for claim in manager.claims(kind)):
        return False  # registered in this process only
    try:
        pickle.dumps(request.options)
    except Exception:
        return False
    return True


def named(error: BaseException, label: str) -> TilecoreError:
    """The error as a TilecoreError whose message begins with the kernel's label."""
    if isinstance(error, TilecoreError):
        error.message = f"{label}: {error.message}"
        error.args = (error.message,)
        return error
    wrapped = TilecoreError(f"{label}: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
