"""Defines AutoTuner, which sets up a search step by step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.autotune.inputs import get_autotune_inputs
from tilecore.autotune.profile_args import ProfileArgs, ProfileOptions
from tilecore.autotune.tuning import Tuning
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
        self._profile = ProfileArgs(**options)
        self._inputs = get_autotune_inputs()
        return self

    def run(
        self, warmup: float | None = None, rep: float | None = None, timeout: float | None = None
    ) -> AutotuneResult:
        """Search, or take a stored result. warmup, rep, timeout: in place of those of set_profile_args, when given.

        Raises AutotuneError, with the reasons of all candidates, when none is left.
        """
        profile = replace(
            self._profile,
            warmup=self._profile.warmup if warmup is None else warmup,
            rep=self._profile.rep if rep is None else rep,
            timeout=self._profile.timeout if timeout is None else timeout,
        )
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
