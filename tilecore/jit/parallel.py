"""par_compile: many kernels compiled at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.contract.adapter import INTERPRETED
from tilecore.errors import LanguageError
from tilecore.jit.build_jobs import Job, named
from tilecore.jit.build_many import CompileWarning, build_all, load
from tilecore.jit.compile import interpreted_kernel, ir_of, make_request
from tilecore.jit.factory_calls import call_of, job_of, known_kernel, label_of, remember
from tilecore.jit.kernel import JITKernel

if TYPE_CHECKING:
    from tilecore.jit.impl import JITImpl


def par_compile(
    funcs: Iterable[Any],
    out_idx: Any = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: str | Sequence[str] | None = None,
    num_workers: int | None = None,
    ignore_error: bool = False,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> list[JITKernel | None]:
    """Compile many T.prim_funcs; the kernels in the same order.

    num_workers: how many are compiled at once; one for each CPU when not given. They are compiled in threads when
    they are few, else in worker processes, which stay for the next time. executor: where to compile instead, any
    concurrent.futures.Executor. progress: show a bar; when not given, on a terminal. The other arguments are those
    of :func:`tilecore.compile`.

    The first failure is raised, naming the kernel, and the rest is not compiled. ignore_error: instead None stands in
    the place of what failed, and one CompileWarning tells the reasons. Ctrl-C ends the workers and is raised.
    """
    request = make_request(out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags)
    funcs = list(funcs)

    def wanted(number: int, func: Any) -> _Wanted:
        label = f"{_name(func)} (number {number + 1} of {len(funcs)})"
        return _Wanted(label, lambda: Job(label, ir_of(func), request))

    return _compile([wanted(number, func) for number, func in enumerate(funcs)],
                    num_workers, ignore_error, executor, progress)  # fmt: skip


def par_compile_configs(
    jit_impl: JITImpl,
    configs: Iterable[Any],
    num_workers: int | None = None,
    ignore_error: bool = False,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> list[JITKernel | None]:
    """The kernels of a ``@tilecore.jit`` function for many arguments, in the same order.

    configs: of each call a dict of keyword arguments, a tuple or list of positional ones, or the only argument.
    The other arguments, and the errors, are those of :func:`par_compile`.
    """
    if jit_impl.mode == "kernel":
        raise LanguageError(f"{jit_impl!r} is one kernel and takes no configurations", expected="a kernel factory")

    def wanted(config: Any) -> _Wanted:
        args, kwargs = call_of(config)
        label = label_of(jit_impl, args, kwargs)
        return _Wanted(
            label,
            lambda: known_kernel(jit_impl, args, kwargs) or job_of(jit_impl, label, args, kwargs),
            lambda job, kernel: remember(jit_impl, args, kwargs, job, kernel),
        )

    return _compile([wanted(config) for config in configs], num_workers, ignore_error, executor, progress)


@dataclass(frozen=True)
class _Wanted:
    """One of the kernels. start: gives what is to be built, or the kernel itself when a cache has it.
    finish: called with what was built."""

    label: str
    start: Callable[[], Job | JITKernel]
    finish: Callable[[Job, JITKernel], None] = lambda job, kernel: None


def _compile(
    wanted: Sequence[_Wanted],
    num_workers: int | None,
    ignore_error: bool,
    executor: Executor | None,
    progress: bool | None,
) -> list[JITKernel | None]:
    failures: dict[int, Exception] = {}

    def failed(number: int, error: Exception) -> None:
        if not ignore_error:
            raise named(error, wanted[number].label)
        failures[number] = error

    kernels: list[JITKernel | None] = [None] * len(wanted)
    jobs: dict[int, Job] = {}
    for number, item in enumerate(wanted):
        try:
            started = item.start()
        except Exception as error:
            failed(number, error)
            continue
        if isinstance(started, Job) and started.request.adapter == INTERPRETED:
            kernels[number] = interpreted_kernel(started.func, started.request)
        elif isinstance(started, Job):
            jobs[number] = started
        else:
            kernels[number] = started
    outcomes = build_all(list(jobs.values()), num_workers, executor, progress, stop_at_error=not ignore_error)
    for (number, job), outcome in zip(jobs.items(), outcomes, strict=True):
        try:
            if isinstance(outcome, Exception):
                raise outcome
            kernel = kernels[number] = load(job, outcome)
            wanted[number].finish(job, kernel)
        except Exception as error:
            failed(number, error)
    if failures:
        warnings.warn(_summary(failures, [item.label for item in wanted]), CompileWarning, stacklevel=3)
    return kernels


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", None) or getattr(func, "attrs", {}).get("global_symbol", type(func).__name__))


def _summary(failures: Mapping[int, Exception], labels: Sequence[str]) -> str:
    """Each reason once, with the kernels that it holds for."""
    reasons: dict[str, list[str]] = {}
    for number, error in failures.items():
        text = str(error).strip() or type(error).__name__
        reasons.setdefault(f"{type(error).__name__}: {text}", []).append(labels[number])
    lines = [f"{len(failures)} of {len(labels)} kernels could not be compiled"]
    for reason, names in reasons.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(f"{', '.join(names[:3])}{more}: {reason}")
    return "\n".join(lines)
