"""Defines AutoTuner, which sets up a search step by step."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.autotune.inputs import get_autotune_inputs
from tilecore.autotune.judges import AutotuneWarning
from tilecore.autotune.profile_args import ProfileArgs, ProfileOptions
from tilecore.autotune.tuning import Tuning
from tilecore.caller import keywords_checked, levels_to_user
from tilecore.jit.impl import JITImpl

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tilecore.autotune.configs import Configs
    from tilecore.autotune.result import AutotuneResult


class AutoTuner:
    """Finds the fastest configuration of ``fn``, a function of tunables that returns a T.prim_func.

    fn: a plain function, a functools.partial of one, or one under ``@tilecore.jit``. configs: as for ``autotune``.

        result = AutoTuner(matmul, configs).set_compile_args(out_idx=-1).set_profile_args(ref_prog=reference).run()
        result.kernel(a, b)
    """

    def __init__(self, fn: Callable[..., Any], configs: Configs) -> None:
        self.fn = fn
        self.configs = configs
        self._compile_args: dict[str, Any] = {}
        self._profile = ProfileArgs()
        self._inputs: list[Any] | None = None

    @classmethod
    def from_kernel(cls, kernel: Callable[..., Any], configs: Configs) -> AutoTuner:
        """``AutoTuner(kernel, configs)``."""
        return cls(kernel, configs)

    @keywords_checked
    def set_compile_args(
        self,
        out_idx: Any = None,
        target: Any = None,
        execution_backend: str | None = None,
        target_host: Any = None,
        verbose: bool | None = None,
        pass_configs: Mapping[Any, Any] | None = None,
        compile_flags: Any = None,
    ) -> AutoTuner:
        """How candidates are compiled, as for :func:`tilecore.compile`; returns self."""
        self._compile_args = {
            "out_idx": out_idx,
            "target": target,
            "execution_backend": execution_backend,
            "target_host": target_host,
            "verbose": verbose,
            "pass_configs": pass_configs,
            "compile_flags": compile_flags,
        }
        return self

    def set_profile_args(self, **options: Unpack[ProfileOptions]) -> AutoTuner:
        """How candidates are run, checked and timed: the arguments of ProfileArgs; returns self. Within
        set_autotune_inputs its tensors are used."""
        self._profile = ProfileArgs.of("AutoTuner.set_profile_args", options)
        self._inputs = get_autotune_inputs()
        return self

    @keywords_checked
    def run(
        self, warmup: float | None = None, rep: float | None = None, timeout: float | None = None,
        use_pipeline: bool = False, enable_grouped_compile: bool = False, group_compile_size: int = 2,
        benchmark_multi_gpu: bool = False, benchmark_devices: Sequence[int] | None = None,
        early_stop: bool | None = None, early_stop_factor: float | None = None,
    ) -> AutotuneResult:  # fmt: skip
        """Search, or take a stored result. warmup, rep, timeout, early_stop, early_stop_factor: in place of those of
        set_profile_args, when given.

        use_pipeline, enable_grouped_compile, group_compile_size, benchmark_multi_gpu, benchmark_devices: how TileLang
        shares out its search. They change no result: here processes compile the candidates at the same time, and one
        device times them; asking for something else gives an AutotuneWarning.

        Raises AutotuneError, with the reasons of all candidates, when none is left.
        """
        asked = {"use_pipeline": use_pipeline, "enable_grouped_compile": enable_grouped_compile}
        asked["benchmark_multi_gpu"] = benchmark_multi_gpu or benchmark_devices is not None
        _warn_of_sharing([name for name, is_asked in asked.items() if is_asked])
        options = {
            "warmup": warmup, "rep": rep, "timeout": timeout, "early_stop": early_stop,
            "early_stop_factor": early_stop_factor,
        }  # fmt: skip
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        profile = replace(self._profile, **given)
        jit_impl, args, kwargs = self._target()
        inputs = get_autotune_inputs() or self._inputs
        return Tuning(jit_impl, self.configs, profile, args, kwargs, inputs).run()

    def _target(self) -> tuple[JITImpl, tuple[Any, ...], dict[str, Any]]:
        """The function under jit, and the arguments that a partial has bound."""
        fn: Any = self.fn
        args: tuple[Any, ...] = ()
        kwargs: dict[str, Any] = {}
        if isinstance(fn, functools.partial):
            fn, args, kwargs = fn.func, fn.args, dict(fn.keywords)
        fn = getattr(fn, "jit_impl", fn)  # under @autotune: the function that it tunes
        if isinstance(fn, JITImpl):
            if self._compile_args:
                fn = JITImpl(fn.func, {**fn.settings, **{k: v for k, v in self._compile_args.items() if v is not None}})
            return fn, args, kwargs
        return JITImpl(fn, self._compile_args), args, kwargs


def _warn_of_sharing(names: list[str]) -> None:
    """Warn of options that share out TileLang's search in another way than this one's."""
    if names:
        warnings.warn(
            f"{', '.join(names)}: the search compiles candidates in processes, at the same time, and times them on one "
            "device, after the last is compiled; these options do not change that",
            AutotuneWarning,
            stacklevel=levels_to_user(),
        )
