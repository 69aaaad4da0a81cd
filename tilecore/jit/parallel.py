"""Compiles many kernels in parallel (``tilecore.par_compile``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.caller import keywords_checked, levels_to_user
from tilecore.contract.adapter import INTERPRETED
from tilecore.errors import LanguageError
from tilecore.jit.build_jobs import Job, named
from tilecore.jit.build_many import CompileWarning, build_all, load
from tilecore.jit.compile import interpreted_kernel, ir_of
from tilecore.jit.factory_calls import call_of, job_of, known_kernel, label_of, remember
from tilecore.jit.request import make_request

if TYPE_CHECKING:
    from tilecore.jit.impl import JITImpl
    from tilecore.jit.kernel import JITKernel


@keywords_checked
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

    num_workers: number of parallel compilations; default: one for each CPU. Few kernels are compiled in threads, many
    in worker processes, which are kept for later calls. executor: a concurrent.futures.Executor to use instead.
    progress: whether to show a bar; default: on a terminal. The other arguments are those
    of :func:`tilecore.compile`.

    The first failure is raised with the kernel's name, and no further kernels are compiled. ignore_error: the result
    has None for each kernel that failed, and one CompileWarning lists the reasons. Ctrl-C ends the workers.
    """
    request = make_request(out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags)
    funcs = list(funcs)

    def item_of(index: int, func: Any) -> _Item:
        label = f"{_name(func)} (kernel {index + 1} of {len(funcs)})"
        return _Item(label, lambda: Job(label, ir_of(func), request))

    return _compile([item_of(index, func) for index, func in enumerate(funcs)],
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
        raise LanguageError(
            f"{jit_impl!r} is one kernel and takes no configurations",
            expected="a function that returns a kernel",
        )

    def item_of(config: Any) -> _Item:
        args, kwargs = call_of(config)
        label = label_of(jit_impl, args, kwargs)
        return _Item(
            label,
            lambda: known_kernel(jit_impl, args, kwargs) or job_of(jit_impl, label, args, kwargs),
            lambda job, kernel: remember(jit_impl, args, kwargs, job, kernel),
        )

    return _compile([item_of(config) for config in configs], num_workers, ignore_error, executor, progress)


@dataclass(frozen=True)
class _Item:
    """One of the kernels. start: returns the job, or the kernel from a cache. finish: called after the build."""

    label: str
    start: Callable[[], Job | JITKernel]
    finish: Callable[[Job, JITKernel], None] = lambda job, kernel: None


def _compile(
    items: Sequence[_Item],
    num_workers: int | None,
    ignore_error: bool,
    executor: Executor | None,
    progress: bool | None,
) -> list[JITKernel | None]:
    failures: dict[int, Exception] = {}

    def failed(index: int, error: Exception) -> None:
        if not ignore_error:
            raise named(error, items[index].label)
        failures[index] = error

    kernels: list[JITKernel | None] = [None] * len(items)
    jobs: dict[int, Job] = {}
    for index, item in enumerate(items):
        try:
            started = item.start()
        except Exception as error:
            failed(index, error)
            continue
        if isinstance(started, Job) and started.request.adapter == INTERPRETED:
            kernels[index] = interpreted_kernel(started.func, started.request)
        elif isinstance(started, Job):
            jobs[index] = started
        else:
            kernels[index] = started
    outcomes = build_all(list(jobs.values()), num_workers, executor, progress, stop_at_error=not ignore_error)
    for (index, job), outcome in zip(jobs.items(), outcomes, strict=True):
        try:
            if isinstance(outcome, Exception):
                raise outcome
            kernel = kernels[index] = load(job, outcome)
            items[index].finish(job, kernel)
        except Exception as error:
            failed(index, error)
    if failures:
        warnings.warn(_summary(failures, [item.label for item in items]), CompileWarning, stacklevel=levels_to_user())
    return kernels


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", None) or getattr(func, "attrs", {}).get("global_symbol", type(func).__name__))


def _summary(failures: Mapping[int, Exception], labels: Sequence[str]) -> str:
    """The text of the warning: each reason once, with its kernels."""
    reasons: dict[str, list[str]] = {}
    for index, error in failures.items():
        text = str(error).strip() or type(error).__name__
        reasons.setdefault(f"{type(error).__name__}: {text}", []).append(labels[index])
    lines = [f"{len(failures)} of {len(labels)} kernels could not be compiled"]
    for reason, names in reasons.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(f"{', '.join(names[:3])}{more}: {reason}")
    return "\n".join(lines)
