"""Compiles many jobs in parallel, in threads, processes or an executor, for par_compile and the autotuner."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

from tilecore.artifact.records import Artifact
from tilecore.caller import levels_to_user
from tilecore.compilation_cache.current import disk_cache
from tilecore.errors import CacheError, ToolchainError
from tilecore.jit.build_jobs import Job, build_message, can_be_sent, named
from tilecore.jit.compile import _kernels, kernel_of
from tilecore.jit.layered import bundled_by_ir, may_compile, request_of
from tilecore.jit.request import files_of
from tilecore.jit.worker_pools import Pool, live_workers, shared_pool
from tilecore.jit.workers import Local, WorkerDied
from tilecore.progress import Progress
from tilecore.tensors.current_device import get_available_cpu_count

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel

# The number of kernels from which processes are faster than threads. A kernel takes 0.1 to 1 s, of which it holds the
# GIL for 0.02 s (loops) to 0.1 s (SIMT), which threads cannot share; a process starts in 0.6 s. On 2 cores threads gain
# nothing from more processes but that start, so more kernels must share it.
WORTH_PROCESSES = 24
WORTH_PROCESSES_OF_ONE = 64  # divided by the number of workers, and added
WORTH_LIVE_PROCESSES = 8  # the same, for processes that run already
WRITERS = 8  # threads that write artifacts to the cache, each of which waits for the disk most of the time

Outcome = Artifact | Exception


class CompileWarning(UserWarning):
    """Some of many kernels failed to compile, or were compiled in this process instead of others."""


def build_all(
    jobs: Sequence[Job],
    num_workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    *,
    timeout: float | None = None,
    stop_at_error: bool = False,
) -> list[Outcome]:
    """The artifact of each job, from the caches or compiled, or the error that it failed with.

    Jobs with the same key are compiled once. timeout: seconds for each job, where ``executor`` is None.
    stop_at_error: raise the first error, with the job's label, and compile no further jobs.
    """
    outcomes: dict[str, Outcome] = {}
    missing: dict[str, Job] = {}
    for job in jobs:
        artifact = _cached(job) if job.key not in outcomes and job.key not in missing else None
        if artifact is not None:
            outcomes[job.key] = artifact
            job.from_cache = True
        elif job.key not in outcomes and job.key not in missing:
            refusal = _refusal(job)
            if refusal is None:
                missing[job.key] = job
            elif stop_at_error:
                raise named(refusal, job.label)
            else:
                outcomes[job.key] = refusal
    if missing:
        with _crew_for(missing, num_workers, executor, timeout) as crew:
            outcomes.update(_build(list(missing.values()), crew, progress, stop_at_error))
    return [outcomes[job.key] for job in jobs]


def load(job: Job, artifact: Artifact) -> JITKernel:
    """The kernel of a built job, from the cache in memory if that has it."""
    func, make_ir = job.func, job.make_ir
    request = request_of(artifact, job.request)
    return _kernels.get_or_make(
        job.key, lambda: kernel_of(artifact, request, make_ir or (lambda: func), from_cache=job.from_cache)
    )


def _cached(job: Job) -> Artifact | None:
    if files_of(job.request) is not None:
        return None
    kernel = _kernels.get(job.key)
    if kernel is not None:
        return kernel.artifact
    return disk_cache().get(job.key) or bundled_by_ir(job.request, job.func)


def _refusal(job: Job) -> CacheError | None:
    """The error where the job may not be compiled."""
    try:
        may_compile(job.label.partition("(")[0].strip(), job.request)
    except CacheError as error:
        return error
    return None


class _Crew:
    """The executor of a build. Leaving the ``with`` block cancels waiting jobs; Ctrl-C also ends the workers.

    remote: whether jobs run in other processes and are sent as messages. owns_executor: whether the end of the block
    shuts the executor down.
    """

    def __init__(self, executor: Executor, *, remote: bool, owns_executor: bool, timeout: float | None = None) -> None:
        self.executor = executor
        self.remote = remote
        self.owns_executor = owns_executor
        self.timeout = timeout
        self.futures: list[Future[Artifact]] = []

    def submit(self, job: Job) -> Future[Artifact]:
        call = (build_message, job.message()) if self.remote else (job.build,)
        if isinstance(self.executor, Pool):
            future = self.executor.submit_timed(self.timeout, *call)
        else:
            future = self.executor.submit(*call)
        self.futures.append(future)
        return future

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        for future in self.futures:
            future.cancel()
        if kind is not None and issubclass(kind, KeyboardInterrupt) and isinstance(self.executor, Pool):
            self.executor.interrupt()
        if self.owns_executor:
            self.executor.shutdown(wait=False)


def _crew_for(
    missing: Mapping[str, Job], num_workers: int | None, executor: Executor | None, timeout: float | None
) -> _Crew:
    request = next(iter(missing.values())).request
    if executor is not None:
        threads = isinstance(executor, ThreadPoolExecutor) or (isinstance(executor, Pool) and executor.in_process)
        if threads or can_be_sent(request):
            return _Crew(executor, remote=not threads, owns_executor=False, timeout=timeout)
        text = (
            f"backend {request.backend.kind!r}, or a function that changes its source, is registered in this process "
            f"only: compiling here, not by the executor"
        )
        warnings.warn(text, CompileWarning, stacklevel=levels_to_user())
    workers = max(1, min(num_workers or get_available_cpu_count(), len(missing)))
    if executor is None and workers > 1 and _worth_processes(len(missing), workers) and can_be_sent(request):
        return _Crew(shared_pool(workers), remote=True, owns_executor=False, timeout=timeout)
    return _Crew(Pool(workers, Local), remote=False, owns_executor=True, timeout=timeout)


def _worth_processes(count: int, workers: int) -> bool:
    if live_workers() >= workers:
        return count >= WORTH_LIVE_PROCESSES
    return count >= WORTH_PROCESSES + WORTH_PROCESSES_OF_ONE // workers


def _build(jobs: Sequence[Job], crew: _Crew, progress: bool | None, stop_at_error: bool) -> dict[str, Outcome]:
    """The outcomes by key. Artifacts are written to the cache on disk meanwhile, and all of them before this ends."""
    outcomes: dict[str, Outcome] = {}
    failed = 0
    writes: list[Future[bool]] = []
    with ThreadPoolExecutor(WRITERS) as writers, Progress("compiling", len(jobs), progress) as bar:
        waiting = {crew.submit(job): job for job in jobs}
        for future in as_completed(waiting):
            job = waiting[future]
            outcome = _outcome(future, job)
            failed += not isinstance(outcome, Artifact)
            bar.advance(f"{failed} failed, {job.label}" if failed else job.label)
            if isinstance(outcome, Artifact):
                writes.append(writers.submit(disk_cache().put, job.key, outcome))
            elif stop_at_error:
                raise named(outcome, job.label)
            outcomes[job.key] = outcome
    for write in writes:
        write.result()  # raises a warning that the program makes an error
    return outcomes


def _outcome(future: Future[Artifact], job: Job) -> Outcome:
    try:
        artifact = future.result()
        return artifact if job.accepts(artifact) else job.build()
    except (BrokenExecutor, WorkerDied) as error:
        toolchain_error = ToolchainError(
            f"the process that compiled the kernel ended early: {getattr(error, 'message', error)}",
            hint="compile the kernel alone to see whether it is the cause; if memory is short, lower num_workers",
        )
        toolchain_error.__cause__ = error
        return toolchain_error
    except Exception as error:
        return error
