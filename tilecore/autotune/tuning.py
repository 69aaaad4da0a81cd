"""Tunes a ``@tilecore.jit`` function for one call: uses the stored result or searches."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilecore import debug, settings
from tilecore.autotune import store
from tilecore.autotune.bench import Bench
from tilecore.autotune.calls import bound_call, check_given, plain_argument, required
from tilecore.autotune.candidates import Candidate, had_refusals
from tilecore.autotune.configs import Config, Configs, completed, expand, in_words, tunables, variant
from tilecore.autotune.inputs import InputSets
from tilecore.autotune.judges import AutotuneWarning, judge_for
from tilecore.autotune.oracle import Oracle
from tilecore.autotune.report import SearchReport
from tilecore.autotune.result import AutotuneResult
from tilecore.autotune.search import SearchResult, search
from tilecore.caller import levels_to_user
from tilecore.compilation_cache.key import UncacheableError, kernel_key, plain_number
from tilecore.compilation_cache.source_key import source_key
from tilecore.contract.adapter import INTERPRETED
from tilecore.dtypes import dtype as DType
from tilecore.jit.build_many import build_all, load
from tilecore.jit.eager_call import LEFT_OUT, gives_tensors
from tilecore.jit.factory_calls import job_of, label_of, remember
from tilecore.profiler.arrays import copied
from tilecore.profiler.profiler import Profiler

if TYPE_CHECKING:
    from tilecore.autotune.judges import Judge
    from tilecore.autotune.profile_args import ProfileArgs
    from tilecore.jit.build_jobs import Job
    from tilecore.jit.build_many import Outcome
    from tilecore.jit.impl import JITImpl
    from tilecore.jit.request import Request

_VERSION = 1


class _Tools:
    """The tools of the search: par_compile compiles candidates, a separate process runs them."""

    def __init__(self, request: Request, profile: ProfileArgs, job: Callable[[Config], Job]) -> None:
        self.job = job
        self.adapter = request.backend.adapters[request.adapter]
        self._request = request
        self._profile = profile

    def build(self, jobs: Sequence[Job], report: SearchReport) -> Sequence[Outcome]:
        return build_all(jobs, progress=report.bars, timeout=self._profile.timeout)

    @contextlib.contextmanager
    def runner(self) -> Iterator[tuple[Bench, Judge]]:
        with Bench(self._request, self._profile.timeout) as bench, Oracle() as oracle:
            yield bench, judge_for(self._profile, self.adapter, oracle)


class Tuning:
    """One call to be tuned.

    args, kwargs: the arguments of the call; inputs: tensors to tune on (an eager kernel is tuned on those of its call).
    not_specialized: names of parameters whose values do not ask for a search of their own.

    Raises ArgumentError where the arguments do not fit the function.
    """

    def __init__(
        self,
        jit_impl: JITImpl,
        configs: Configs,
        profile: ProfileArgs,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        inputs: Sequence[Any] | None = None,
        not_specialized: Sequence[str] = (),
    ) -> None:
        self.jit_impl = jit_impl
        self.profile = profile
        self.args = args
        self.kwargs = dict(kwargs or {})
        signature = bound_call(jit_impl, args, self.kwargs).signature
        self.configs = expand(configs, signature, args, self.kwargs)
        if jit_impl.mode != "eager":
            check_given(jit_impl, args, self.kwargs, {*required(signature)} - {*tunables(self.configs)})
        self.inputs = self._arguments_of_call() if inputs is None else list(inputs)
        self.not_specialized = tuple(not_specialized)

    def run(self) -> AutotuneResult:
        """Raises AutotuneError when no configuration gives a right kernel, and as :func:`search` does."""
        if self.jit_impl.request().adapter == INTERPRETED:
            return self._first()
        key = self._key()
        stored = self._stored(key)
        if stored is not None:
            debug.say(debug.BACKEND, f"{self._name()}: tuned before: {in_words(self.configs[stored.index])}")
            return self._from_stored(stored)
        request = self.jit_impl.request()
        sets = InputSets(self.profile.supply_type, self.profile.supply_prog, self.inputs)
        verbose = request.options.verbose or settings.verbose()
        report = SearchReport(self._name(), self.profile.progress, verbose)
        search_result = search(self.configs, _Tools(request, self.profile, self._job), self.profile, sets, report)
        result = self._result(search_result)
        if verbose:
            debug.announce(f"{self._name()}: the configurations, the fastest first\n{result.table()}")
        if key is not None and not had_refusals(result.candidates):
            index = self.configs.index(result.config)
            store.save(key, self.configs, store.Stored(index, result.latency, result.ref_latency, result.checked))
        return result

    def stored_config(self) -> Config | None:
        """The configuration that an earlier search has found; None where there was none. Nothing is compiled."""
        stored = self._stored(self._key())
        return None if stored is None else self.configs[stored.index]

    def _stored(self, key: str | None) -> store.Stored | None:
        return None if key is None else store.load(key, self.configs)

    def _first(self) -> AutotuneResult:
        """The first configuration, for kernels that the interpreter runs: their speed means nothing."""
        text = f"{self._name()}: kernels run by their definition, which is not timed: the first configuration is taken"
        warnings.warn(text, AutotuneWarning, stacklevel=levels_to_user())
        config = self.configs[0]
        kernel = variant(self.jit_impl, config).compile(**self._call(config))
        return self._filled(AutotuneResult(
            kernel, config, math.nan, None, "nothing", False, [Candidate(config, "right", "not timed")]
        ))  # fmt: skip

    # -- the search's needs -----------------------------------------------------------------------------------

    def _name(self) -> str:
        return str(getattr(self.jit_impl, "__name__", "kernel"))

    def _call(self, config: Config) -> dict[str, Any]:
        return completed(self.jit_impl.call_signature(self.kwargs), self.args, self.kwargs, config)

    def _job(self, config: Config) -> Job:
        call = self._call(config)
        return job_of(variant(self.jit_impl, config), label_of(self.jit_impl, (), {**call, **config}), (), call)

    def _arguments_of_call(self) -> dict[str, Any] | None:
        """The arguments of a call of an eager kernel, by name; None if tensors are passed as types or left out."""
        if self.jit_impl.mode != "eager":
            return None
        values = self._call({})
        tuned = tunables(self.configs)
        needed = [n for n, p in self.jit_impl.signature.parameters.items() if p.default is p.empty and n not in tuned]
        return values if gives_tensors({**dict.fromkeys(needed, LEFT_OUT), **values}) else None

    # -- results ----------------------------------------------------------------------------------------------

    def _result(self, search_result: SearchResult) -> AutotuneResult:
        best = search_result.best
        assert best.job is not None
        assert best.artifact is not None
        assert best.latency is not None
        kernel = load(best.job, best.artifact)
        remember(variant(self.jit_impl, best.config), (), self._call(best.config), best.job, kernel)
        reference = self._reference_latency(kernel, search_result) if self.profile.ref_prog is not None else None
        for candidate in search_result.candidates:
            candidate.job = candidate.artifact = candidate.error = None  # results are kept for long
        return self._filled(AutotuneResult(
            kernel, best.config, best.latency, reference, search_result.checked, False, search_result.candidates
        ))  # fmt: skip

    def _reference_latency(self, kernel: Any, search_result: SearchResult) -> float:
        profile = self.profile
        inputs = [copied(value) for value in search_result.inputs]  # it may write to them
        latency = Profiler(kernel).do_bench(
            profile.ref_prog, profile.warmup, profile.rep, input_tensors=inputs, return_mode="median"
        )
        assert isinstance(latency, float)
        return latency

    def _from_stored(self, stored: store.Stored) -> AutotuneResult:
        config = self.configs[stored.index]
        kernel = variant(self.jit_impl, config).compile(**self._call(config))
        return self._filled(
            AutotuneResult(kernel, config, stored.latency, stored.ref_latency, stored.checked, from_cache=True)
        )

    @staticmethod
    def _filled(result: AutotuneResult) -> AutotuneResult:
        kernel = result.kernel
        kernel.config, kernel.latency, kernel.ref_latency = result.config, result.latency, result.ref_latency
        return result

    # -- the key ----------------------------------------------------------------------------------------------

    def _key(self) -> str | None:
        """Of the result on disk; None when something in it has no canonical form."""
        request = self.jit_impl.request()
        try:
            return kernel_key({
                "autotune": _VERSION,
                "function": self._function_key(),
                "configs": self.configs,
                "inputs": [_facts(value) for value in self.inputs] if isinstance(self.inputs, list) else None,
                "device": request.backend.target.detect().detail,
                **self.profile.key_parts(),
                **request.key_parts(),
            })  # fmt: skip
        except UncacheableError as error:
            debug.say(debug.BACKEND, f"{self._name()}: the result of tuning is not kept: {error}")
            return None

    def _function_key(self) -> str:
        """Stands for the function and the call: its source, or else the tile IR of the first configuration."""
        values = self._call(self.configs[0])
        plain = {
            name: None if name in self.not_specialized else plain_argument(self.jit_impl, value)
            for name, value in values.items()
        }
        key = source_key(self.jit_impl.func, (), plain)
        if key is not None:
            return key.digest
        try:
            return str(self._job(self.configs[0]).func.script(show_meta=True))
        except Exception as error:
            raise UncacheableError(f"the first configuration has no IR: {error}") from error


def _facts(value: Any) -> Any:
    """Of an input tensor: shape and element type; of a number its value."""
    value = plain_number(value)
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or kind is None:
        return value if isinstance(value, (bool, int, float)) else type(value).__name__
    return tuple(int(size) for size in shape), str(DType(kind))
