"""One kernel to be built, and the form in which it is sent to another process."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tilecore.artifact.records import Artifact
from tilecore.cache.versions import versions_for_key
from tilecore.compiler import CompileOptions
from tilecore.errors import TilecoreError
from tilecore.jit.compile import Request, build, ir_key
from tilecore.plugins import discovery, manager


@dataclass
class Job:
    """A kernel's tile IR and how to compile it. label: what messages call it."""

    label: str
    func: Any
    request: Request
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.key = ir_key(self.func, self.request)

    def build(self) -> Artifact:
        """Compile it here."""
        return build(self.func, self.request)

    def message(self) -> JobMessage:
        """What another process needs to do the same."""
        from tilecore.ir.nodes import tvm

        request = self.request
        ir = str(tvm.ir.save_json(self.func))
        return JobMessage(ir, str(request.target), request.adapter, request.options, request.debug_root)

    def accepts(self, artifact: Artifact) -> bool:
        """Was it made by the same tilecore and backend, for the same target? Sources may have been edited since this
        process imported them."""
        backend = self.request.backend
        same = dict(artifact.versions) == versions_for_key(backend.package, backend.version, backend.module)
        return same and artifact.target == str(self.request.target)


@dataclass(frozen=True)
class JobMessage:
    """ir: TVM's JSON, which keeps the places in the user's source. target: resolved."""

    ir: str
    target: str
    adapter: str
    options: CompileOptions
    debug_root: str | None


def build_message(message: JobMessage) -> Artifact:
    """Compile what another process sent."""
    backend, target = manager.resolve(message.target)
    with without_torch():
        from tilecore.ir import tile_ops  # noqa: F401 - the operations must be known before their calls are read
        from tilecore.ir.nodes import tvm

    request = Request(backend, target, message.adapter, message.options, message.debug_root)
    return build(tvm.ir.load_json(message.ir), request)


@contextlib.contextmanager
def without_torch() -> Iterator[None]:
    """TVM imports torch when it is there, which takes two thirds of the time; for workers that have no use for it."""
    if "torch" in sys.modules or "tvm_ffi" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]


def can_be_sent(request: Request) -> bool:
    """Can another process compile by it: is the backend an installed one, are the options plain data?"""
    kind = request.backend.kind
    installed = discovery.discover().entries.get(kind, ())
    if not all(claim in installed for claim in manager.claims(kind)):
        return False  # registered by hand, in this process
    try:
        pickle.dumps(request.options)
    except Exception:
        return False
    return True


def named(error: BaseException, label: str) -> TilecoreError:
    """The error with the kernel's name in front; one of tilecore's own in any case."""
    if isinstance(error, TilecoreError):
        error.message = f"{label}: {error.message}"
        error.args = (error.message,)
        return error
    made = TilecoreError(f"{label}: {type(error).__name__}: {error}")
    made.__cause__ = error
    return made
