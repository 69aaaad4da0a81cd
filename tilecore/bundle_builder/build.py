"""Compiles declared kernels for several targets, in parallel; a kernel that fails does not stop the others."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilecore import settings
from tilecore.artifact.records import Artifact
from tilecore.bundle_builder.write import BundledKernel
from tilecore.bundles import layers
from tilecore.contract.adapter import this_machine
from tilecore.errors import ArgumentError, TargetError, TilecoreError
from tilecore.jit.build_jobs import Job, named
from tilecore.jit.build_many import build_all
from tilecore.jit.request import Request, make_request, portable_ir_key
from tilecore.plugins import manager
from tilecore.plugins.attributes import without_defaults
from tilecore.plugins.suitable import suitable_names
from tilecore.runtime.simulation import simulates
from tilecore.target import Target
from tilecore.target_report.files import failure_of

if TYPE_CHECKING:
    from tilecore.bundle_builder.kernels import DeclaredKernel
    from tilecore.contract.records import Backend
    from tilecore.target import Target

HOST_MEMORY = 1  # DLPack's type of the host's memory


@dataclass(frozen=True)
class Task:
    """A kernel and the target that it is compiled for. target: as users write it."""

    kernel: DeclaredKernel
    request: Request
    target: str

    @property
    def label(self) -> str:
        return f"{self.kernel.label} for {self.target}"


@dataclass(frozen=True)
class Built:
    """A compiled kernel, with the keys by which programs find it."""

    task: Task
    artifact: Artifact
    keys: tuple[str, ...]

    def bundled(self) -> BundledKernel:
        """The kernel as it goes into a bundle."""
        kernel, request = self.task.kernel, self.task.request
        adapter = request.backend.adapters[request.adapter]
        device = request.backend.target.device if adapter.device is None else adapter.device
        of_this_host = this_machine() if device == HOST_MEMORY else ""
        machine = adapter.machine(Target.parse(self.artifact.target)) or of_this_host
        forms = kernel.forms(self.artifact)
        return BundledKernel(kernel.name, kernel.label, kernel.arguments, self.artifact, self.keys, machine, forms)


@dataclass(frozen=True)
class Failed:
    """A kernel that could not be compiled, and why. target: as users write it."""

    kernel: DeclaredKernel
    target: str
    error: Exception


@dataclass(frozen=True)
class Plan:
    """What is to be compiled. failed: what is known to fail. left_out: sentences on kernels that none of the targets is
    for."""

    tasks: tuple[Task, ...]
    failed: tuple[Failed, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What a build made. seconds: how long it took."""

    built: tuple[Built, ...]
    failed: tuple[Failed, ...]
    seconds: float


def plan_of(
    kernels: Sequence[DeclaredKernel],
    targets: Mapping[Target, str],
    execution_backend: str | None,
    keep_going: bool = False,
) -> Plan:
    """What is to be compiled.

    targets: with their texts; none: each kernel's own, or this machine's. keep_going: kernels whose settings are wrong
    fail. Raises TargetError, without keep_going also for settings of kernels, and ArgumentError where a setting asks
    for simulated kernels.
    """
    if settings.interpret() or settings.simulate():
        name = "TILECORE_INTERPRET" if settings.interpret() else "TILECORE_SIMULATE"
        raise ArgumentError(f"{name} asks for kernels that no device runs", expected=f"{name} not set")
    tasks: list[Task] = []
    failed: list[Failed] = []
    left_out: list[str] = []
    for kernel in kernels:
        own = kernel.settings.get("target")
        try:
            own_target = None if own in (None, "auto") else manager.resolve(own)[1]
        except TilecoreError as error:
            if not keep_going:
                raise named(error, kernel.label) from None
            failed.append(Failed(kernel, str(own), error))
            continue
        chosen = targets or _default(own_target)
        fitting = {t: text for t, text in chosen.items() if own_target is None or t.kind == own_target.kind}
        if not fitting:
            left_out.append(f"{kernel.label}: its own target is {own}, and none of the targets is of this kind")
        for target, text in fitting.items():
            made = _task(kernel, target, text, execution_backend, keep_going)
            if isinstance(made, Task):
                tasks.append(made)
            else:
                failed.append(made)
    return Plan(tuple(tasks), tuple(failed), tuple(left_out))


def _task(
    kernel: DeclaredKernel, target: Target, text: str, execution_backend: str | None, keep_going: bool
) -> Task | Failed:
    """A kernel for a target, or why it cannot be compiled."""
    if kernel.problem is not None:
        return Failed(kernel, text, kernel.problem)
    try:
        request = _request(kernel, target, execution_backend)
    except TilecoreError as error:
        if not keep_going:
            raise (error if execution_backend else named(error, kernel.label)) from None
        return Failed(kernel, text, error)
    if kernel.of_request is None:
        return Task(kernel, request, text)
    try:
        return Task(replace(kernel.of_request(request), label=kernel.label), request, text)
    except TilecoreError as error:
        return Failed(kernel, text, error)


def _default(own: Target | None) -> dict[Target, str]:
    """A kernel's own target, or this machine's, with its text."""
    target = own or manager.use_default()[1]
    return {target: str(without_defaults(manager.get(target), target))}


def build(plan: Plan, jobs: int | None = None, progress: bool | None = None) -> Outcome:
    """Compile the kernels of a plan. jobs: the number of parallel compilations; None: one for each processor."""
    start = time.monotonic()
    built: list[Built] = []
    failed = [*plan.failed]
    prepared: list[tuple[Task, Job]] = []
    for task, result in _prepared(plan.tasks):
        if isinstance(result, Exception):
            failed.append(Failed(task.kernel, task.target, result))
        else:
            prepared.append((task, result))
    with layers.set_aside():  # another bundle may have a kernel that fits, and that is for another target
        for kind in dict.fromkeys(task.request.target.kind for task, _ in prepared):
            several = [(task, job) for task, job in prepared if task.request.target.kind == kind]
            outcomes = build_all([job for _, job in several], jobs, progress=progress)
            for (task, job), outcome in zip(several, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    failed.append(Failed(task.kernel, task.target, outcome))
                else:
                    built.append(Built(task, outcome, _keys(task, job, outcome)))
    order = {id(task): number for number, task in enumerate(plan.tasks)}
    built.sort(key=lambda one: order[id(one.task)])
    return Outcome(tuple(built), tuple(failed), time.monotonic() - start)


def _prepared(tasks: Sequence[Task]) -> Iterator[tuple[Task, Job | Exception]]:
    """The job of each task, or the error that building its tile IR raised; kernels for several targets share it."""
    functions: dict[int, Any] = {}
    for task in tasks:
        kernel = task.kernel
        try:
            if id(kernel) not in functions:
                functions[id(kernel)] = kernel.make_ir()
            function = functions[id(kernel)]
            yield task, function if isinstance(function, Exception) else Job(task.label, function, task.request)
        except (Exception, SystemExit) as error:
            failure = error if isinstance(error, TilecoreError) else failure_of("it cannot be built", error)
            functions.setdefault(id(kernel), failure)
            yield task, failure


def _keys(task: Task, job: Job, artifact: Artifact) -> tuple[str, ...]:
    keys = [*task.kernel.keys(task.request, artifact), portable_ir_key(job.func, task.request)]
    return tuple(dict.fromkeys(keys))


def _request(kernel: DeclaredKernel, target: Target, execution_backend: str | None) -> Request:
    backend = manager.get(target)
    own = kernel.settings.get("execution_backend")
    wanted = execution_backend or (None if own in (None, "", "auto") else str(own))
    name = wanted or _for_devices(backend, target)
    request = make_request(**{**kernel.settings, "target": target, "execution_backend": name, "debug_root_path": None})
    if simulates(request.adapter, request.backend):
        raise TargetError(
            f"execution_backend={request.adapter!r} runs kernels on a simulated device, and bundles are for devices",
            expected=", ".join(n for n in backend.adapters if not simulates(n, backend)) or "a target with devices",
        )
    return request


def _for_devices(backend: Backend, target: Target) -> str:
    """The first execution backend that runs kernels of the target on devices. Raises TargetError."""
    names = [name for name in suitable_names(backend, target) if not simulates(name, backend)]
    if not names:
        raise TargetError(f"target {str(target)!r} has no execution backend for devices")
    return names[0]


def reason_of(error: Exception) -> str:
    """An error as text."""
    return str(error).strip() if isinstance(error, TilecoreError) else f"{type(error).__name__}: {error}"
