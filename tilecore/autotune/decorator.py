"""``@autotune``: a ``@tilecore.jit`` function that finds its own tunable arguments."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilecore.autotune.auto import AUTO, TRIES, AutoConfigs
from tilecore.autotune.calls import FoundForCalls, bound_call, check_given, check_types, key_of_call, required
from tilecore.autotune.candidates import had_refusals
from tilecore.autotune.configs import Config, Configs, completed, depends_on, expand, set_by_call, tunables, variant
from tilecore.autotune.inputs import get_autotune_inputs
from tilecore.autotune.known import KnownConfigs
from tilecore.autotune.profile_args import ProfileArgs, ProfileOptions
from tilecore.autotune.tuning import Tuning
from tilecore.caller import keywords_checked
from tilecore.errors import (
    ArgumentError,
    AutotuneError,
    CacheError,
    LanguageError,
    MissingInputsError,
    TilecoreError,
    WrongTypeError,
)
from tilecore.jit.impl import JITImpl

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tilecore.autotune.result import AutotuneResult
    from tilecore.jit.kernel import JITKernel


class _SetByCall:
    """Stands for the result of a call that sets all tunables itself."""


class AutotunedKernel:
    """What ``@autotune`` makes of a ``@tilecore.jit`` function.

    Calling it gives what the function gives, with the fastest configuration: of a lazy one the kernel, of an eager one
    the outputs. The search is run once for each set of arguments. A call that sets all tunables itself is passed on.
    Everything else (``par_compile``, ``get_tir``, ...) is the function's own.
    """

    def __init__(
        self,
        jit_impl: JITImpl,
        configs: Configs,
        profile: ProfileArgs,
        do_not_specialize: Sequence[str] = (),
        known_configs: KnownConfigs | None = None,
    ) -> None:
        functools.update_wrapper(self, jit_impl, updated=())
        self.jit_impl = jit_impl
        self.configs = configs
        self.profile = profile
        self.do_not_specialize = tuple(do_not_specialize)
        self.known_configs = known_configs
        self._results: FoundForCalls[AutotuneResult | _SetByCall] = FoundForCalls()
        self._untimed: FoundForCalls[Config] = FoundForCalls()  # configurations that are used without a search
        self._lock = threading.RLock()  # one search at a time, as they would disturb each other's times

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        config = self._known_config(args, kwargs, is_whole=True)
        if config is not None:
            kernel = self._called(args, kwargs, config)
            if self.jit_impl.mode != "eager":
                kernel.config = config
            return kernel
        result = self._result(args, kwargs, is_whole=True)
        if result is None:
            return self.jit_impl(*args, **kwargs)
        if self.jit_impl.mode == "eager":
            return self._called(args, kwargs, result.config)
        return self._kernel(result, args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The kernel for these arguments, tuned unless they set all tunables."""
        config = self._known_config(args, kwargs)
        if config is not None:
            kernel = self._compiled(args, kwargs, config)
            kernel.config = config
            return kernel
        result = self._result(args, kwargs)
        return self.jit_impl.compile(*args, **kwargs) if result is None else self._kernel(result, args, kwargs)

    def _called(self, args: Sequence[Any], kwargs: dict[str, Any], config: Config) -> Any:
        call = completed(self.jit_impl.call_signature(kwargs), args, kwargs, config)
        return variant(self.jit_impl, config)(**call)

    def _compiled(self, args: Sequence[Any], kwargs: dict[str, Any], config: Config) -> JITKernel:
        call = completed(self.jit_impl.call_signature(kwargs), args, kwargs, config)
        return variant(self.jit_impl, config).compile(**call)

    def tune(self, *args: Any, **kwargs: Any) -> AutotuneResult:
        """The result of the search for these arguments, from memory or disk, else from a new search.

        Raises AutotuneError when no candidate is left.
        """
        return self._result(args, kwargs) or self._searched(args, kwargs)

    def _known_config(self, args: tuple[Any, ...], kwargs: dict[str, Any], is_whole: bool = False) -> Config | None:
        """The configuration to use without a search: a known one, unless the call sets tunable arguments itself, or
        the best proposal that compiles; None where there is none."""
        is_untimed = isinstance(self.configs, AutoConfigs) and self.configs.is_untimed
        if self.known_configs is None and not is_untimed:
            return None
        key = key_of_call(self.jit_impl, args, kwargs, self.do_not_specialize) if is_untimed else None
        config = self._untimed.get(key)
        if config is not None:
            return config
        configs = self.expanded(args, kwargs, is_whole)
        names, bound = tunables(configs), bound_call(self.jit_impl, args, kwargs)
        fixed = set_by_call(names, bound.signature, args, kwargs)
        if self.known_configs is not None and not fixed:
            bound.apply_defaults()
            known = self.known_configs.find(self.jit_impl.request().target, bound.arguments)
            if known is not None:
                return known
        if not is_untimed or len(fixed) == len(names):
            return None
        config, errors = self._first_legal(configs, args, kwargs)
        self._untimed.keep(key, config, had_refusals=any(isinstance(error, CacheError) for error in errors))
        return config

    def _first_legal(
        self, configs: Sequence[Config], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Config, list[Exception]]:
        """The first configuration that compiles, and the errors of those before it. Raises the first error where none
        does."""
        errors: list[Exception] = []
        for config in configs:
            try:
                self._compiled(args, kwargs, config)
            except Exception as error:  # the function's own, too: it may refuse a combination of values
                errors.append(error)
                continue
            return config, errors
        raise self._with_departure(errors[0], args, kwargs)

    def expanded(self, args: tuple[Any, ...], kwargs: dict[str, Any], is_whole: bool = False) -> list[Config]:
        """The configurations for a call. Raises ArgumentError where its arguments do not fit; tunables may be missing,
        and unless it is_whole tensors of an eager function."""
        signature = bound_call(self.jit_impl, args, kwargs).signature
        check_types(self.jit_impl, args, kwargs)
        if self.jit_impl.mode == "eager" and not is_whole:
            return expand(self.configs, signature, args, kwargs)
        needed = self.configs.needed() if isinstance(self.configs, AutoConfigs) else depends_on(self.configs, signature)
        check_given(self.jit_impl, args, kwargs, needed)
        configs = expand(self.configs, signature, args, kwargs)
        check_given(self.jit_impl, args, kwargs, {*required(signature)} - {*tunables(configs)})
        return configs

    def _result(self, args: tuple[Any, ...], kwargs: dict[str, Any], is_whole: bool = False) -> AutotuneResult | None:
        """None when the arguments set all tunables."""
        key = key_of_call(self.jit_impl, args, kwargs, self.do_not_specialize)
        found = self._results.get(key)
        if found is None:
            with self._lock:
                found = self._results.get(key)
                if found is None:
                    found = self._found(args, kwargs, is_whole)
                    refusals = not isinstance(found, _SetByCall) and had_refusals(found.candidates)
                    self._results.keep(key, found, had_refusals=refusals)
        return None if isinstance(found, _SetByCall) else found

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any], is_whole: bool) -> AutotuneResult | _SetByCall:
        names = tunables(self.expanded(args, kwargs, is_whole))
        fixed = set_by_call(names, self.jit_impl.call_signature(kwargs), args, kwargs)
        return _SetByCall() if len(fixed) == len(names) else self._searched(args, kwargs)

    def _searched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AutotuneResult:
        tuning = self._tuning(args, kwargs)
        try:
            return tuning.run()
        except MissingInputsError:
            raise
        except (ArgumentError, WrongTypeError, CacheError) as error:
            raise self._with_departure(self._own_error(error, tuning.configs[0], args, kwargs), args, kwargs) from None
        except AutotuneError as error:
            self._with_departure(error, args, kwargs)
            raise

    def _own_error(self, error: Exception, config: Config, args: Sequence[Any], kwargs: dict[str, Any]) -> Exception:
        """The function's own error for a call that the search has failed for, which may say more."""
        try:
            self._compiled(args, kwargs, config)
        except Exception as own:
            return own
        return error

    def _with_departure(self, error: Exception, args: Sequence[Any], kwargs: dict[str, Any]) -> Exception:
        """The error, with the values of the call that no proposal has, as they may be its reason."""
        departure = self.configs.departure(args, kwargs) if isinstance(self.configs, AutoConfigs) else ""
        if departure and isinstance(error, TilecoreError):
            error.hint = f"{error.hint}; {departure}" if error.hint else departure
        return error

    def _tuning(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tuning:
        inputs = get_autotune_inputs()
        return Tuning(self.jit_impl, self.configs, self.profile, args, kwargs, inputs, self.do_not_specialize)

    def _kernel(self, result: AutotuneResult, args: Sequence[Any], kwargs: dict[str, Any]) -> JITKernel:
        if not self.do_not_specialize and self.jit_impl.state() is not None:
            return result.kernel
        kernel = self._compiled(args, kwargs, result.config)
        kernel.config, kernel.latency, kernel.ref_latency = result.config, result.latency, result.ref_latency
        return kernel

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "jit_impl":
            raise AttributeError(name)
        return getattr(self.jit_impl, name)

    def __repr__(self) -> str:
        return f"<tilecore.autotune of {self.jit_impl!r}>"


@keywords_checked
def autotune(
    func: Any = None,
    *,
    configs: Configs | str,
    tries: int | None = None,
    do_not_specialize: Sequence[str] | None = None,
    known: KnownConfigs | str | os.PathLike[str] | None = None,
    **options: Unpack[ProfileOptions],
) -> Any:
    """Decorator above ``@tilecore.jit``: find the fastest of several configurations when the function is called.

    configs: a list of dicts of arguments, a dict of lists (all combinations are tried), or a function of the call's
    arguments that returns one of these; "auto": the best ``tries`` (5 unless given) of those that tilecore.heuristics
    proposes, for a function with the parameters of a GEMM or of attention. With ``tries=1`` nothing is timed: the best
    proposal that compiles is used. do_not_specialize: parameters whose values do not ask for a search of their
    own. known: configurations that were found before (tilecore.autotuner.KnownConfigs, or its file); a call that one
    of them fits is not searched for. The other arguments are those of
    :class:`~tilecore.autotune.profile_args.ProfileArgs`; timeout is 100 seconds when not given.

    Every candidate is compiled, run and checked before it is timed: against ``ref_prog``, else against the interpreter
    where the problem is small enough for it, else against each other; one that is wrong never wins. They run in a
    process of their own, where one that hangs or crashes harms nobody. The result is kept on disk.
    """
    if isinstance(configs, str) and configs != AUTO:
        raise ArgumentError(
            "configs is no set of configurations", found=repr(configs), expected='"auto", or configurations'
        )
    if tries is not None and configs != AUTO:
        raise ArgumentError('tries goes with configs="auto"', found=f"tries={tries!r} beside configurations")
    options.setdefault("timeout", 100)
    profile = ProfileArgs.of("autotune", options, ("configs", "tries", "do_not_specialize", "known"))

    def decorate(jit_impl: Any) -> AutotunedKernel:
        from tilecore.jit.torch_function import TorchFunction

        if not isinstance(jit_impl, JITImpl) or jit_impl.mode == "kernel":
            raise LanguageError(
                "autotune decorates a kernel factory under @tilecore.jit",
                found=repr(jit_impl),
                expected="@autotune(configs=...) above @tilecore.jit above a function with tunable arguments",
            )
        if isinstance(jit_impl, TorchFunction):
            raise LanguageError(
                "autotune decorates no function with torch_op: an operation cannot change its kernel",
                found=repr(jit_impl),
                expected="@autotune(configs=...) above @tilecore.jit without torch_op",
                hint=f'{jit_impl.__name__}.compile(...).torch_op("mylib::name") is then that of the best kernel',
            )
        space: Configs = (
            AutoConfigs(jit_impl, TRIES if tries is None else tries) if isinstance(configs, str) else configs
        )
        table = known if known is None or isinstance(known, KnownConfigs) else KnownConfigs.load(known)
        return AutotunedKernel(jit_impl, space, profile, do_not_specialize or (), table)

    return decorate if func is None else decorate(func)
