"""``@autotune``: a ``@tilecore.jit`` function that finds its own tunable arguments."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilecore.autotune.auto import AUTO, TRIES, AutoConfigs
from tilecore.autotune.configs import Config, Configs, completed, expand, set_by_call, tunables, variant
from tilecore.autotune.inputs import get_autotune_inputs
from tilecore.autotune.known import KnownConfigs
from tilecore.autotune.profile_args import ProfileArgs, ProfileOptions
from tilecore.autotune.tuning import Tuning
from tilecore.errors import ArgumentError, AutotuneError, LanguageError, MissingInputsError, TilecoreError
from tilecore.jit.argument_key import key_of
from tilecore.jit.eager_call import arguments_of
from tilecore.jit.impl import JITImpl

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tilecore.autotune.result import AutotuneResult
    from tilecore.jit.kernel import JITKernel


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
        self._results: dict[Any, AutotuneResult | None] = {}
        self._untimed: dict[Any, Config] = {}  # configurations that are used without a search
        self._lock = threading.RLock()  # one search at a time, as they would disturb each other's times

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        config = self._known_config(args, kwargs)
        if config is not None:
            kernel = self._called(args, kwargs, config)
            if self.jit_impl.mode != "eager":
                kernel.config = config
            return kernel
        result = self._result(args, kwargs)
        if result is None:
            return self.jit_impl(*args, **kwargs)
        if self.jit_impl.mode == "eager":
            return self._called(args, kwargs, result.config)
        return self._kernel(result, args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The kernel for these arguments, tuned unless they set all tunables."""
        config = self._known_config(args, kwargs)
        if config is not None:
            return self._compiled(args, kwargs, config)
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

    def _known_config(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config | None:
        """The configuration to use without a search: a known one, unless the call sets tunable arguments itself, or
        the best proposal that compiles; None where there is none."""
        is_untimed = isinstance(self.configs, AutoConfigs) and self.configs.is_untimed
        if self.known_configs is None and not is_untimed:
            return None
        key = self._memory_key(args, kwargs) if is_untimed else None
        if key in self._untimed:
            return self._untimed[key]
        signature = self._signature(args, kwargs)
        configs = expand(self.configs, signature, args, kwargs)
        names = tunables(configs)
        fixed = set_by_call(names, signature, args, kwargs)
        if self.known_configs is not None and not fixed:
            bound = signature.bind_partial(*args, **kwargs)
            bound.apply_defaults()
            known = self.known_configs.find(self.jit_impl.request().target, bound.arguments)
            if known is not None:
                return known
        if not is_untimed or len(fixed) == len(names):
            return None
        self._untimed[key] = self._first_legal(configs, args, kwargs)
        return self._untimed[key]

    def _first_legal(self, configs: Sequence[Config], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        """The first configuration that compiles. Raises the first one's error where none does."""
        first_error: TilecoreError | None = None
        for config in configs:
            try:
                self._compiled(args, kwargs, config)
            except TilecoreError as error:
                first_error = first_error or error
                continue
            return config
        assert first_error is not None
        raise self._with_departure(first_error, args, kwargs)

    def _signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.Signature:
        """For a call with these arguments. Raises ArgumentError where they do not fit; tunables may be missing."""
        signature = self.jit_impl.call_signature(kwargs)
        arguments_of(self.jit_impl.func.__name__, signature, args, kwargs, whole=False)
        return signature

    def _result(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AutotuneResult | None:
        """None when the arguments set all tunables."""
        key = self._memory_key(args, kwargs)
        if key not in self._results:
            with self._lock:
                if key not in self._results:
                    signature = self._signature(args, kwargs)
                    names = tunables(expand(self.configs, signature, args, kwargs))
                    whole = len(set_by_call(names, signature, args, kwargs)) == len(names)
                    self._results[key] = None if whole else self._searched(args, kwargs)
        return self._results[key]

    def _searched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AutotuneResult:
        tuning = self._tuning(args, kwargs)
        try:
            return tuning.run()
        except MissingInputsError:
            raise
        except AutotuneError as error:
            self._with_departure(error, args, kwargs)
            raise

    def _with_departure(self, error: TilecoreError, args: Sequence[Any], kwargs: dict[str, Any]) -> TilecoreError:
        """The error, with the values of the call that no proposal has, as they may be its reason."""
        departure = self.configs.departure(args, kwargs) if isinstance(self.configs, AutoConfigs) else ""
        if departure:
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

    def _memory_key(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        bound = self.jit_impl.call_signature(kwargs).bind_partial(*args, **kwargs)
        given = {name for name, value in bound.arguments.items() if value is not None}  # tunables among them are fixed
        bound.apply_defaults()
        ignored = self.do_not_specialize
        values = tuple(
            (name, name in given, _key_of(value)) for name, value in bound.arguments.items() if name not in ignored
        )
        return values, self.jit_impl.state()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "jit_impl":
            raise AttributeError(name)
        return getattr(self.jit_impl, name)

    def __repr__(self) -> str:
        return f"<tilecore.autotune of {self.jit_impl!r}>"


def _key_of(value: Any) -> Any:
    """The cache key of an argument: shape and element type of a tensor, else the value."""
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    return key_of(value) if shape is None or kind is None else ("tensor", tuple(shape), str(kind))


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
    profile = ProfileArgs(**options)

    def decorate(jit_impl: Any) -> AutotunedKernel:
        if not isinstance(jit_impl, JITImpl) or jit_impl.mode == "kernel":
            raise LanguageError(
                "autotune decorates a kernel factory under @tilecore.jit",
                found=repr(jit_impl),
                expected="@autotune(configs=...) above @tilecore.jit above a function with tunable arguments",
            )
        space: Configs = (
            AutoConfigs(jit_impl, TRIES if tries is None else tries) if isinstance(configs, str) else configs
        )
        table = known if known is None or isinstance(known, KnownConfigs) else KnownConfigs.load(known)
        return AutotunedKernel(jit_impl, space, profile, do_not_specialize or (), table)

    return decorate if func is None else decorate(func)
