"""Defines ``@tilecore.jit`` and JITImpl, the function that it returns."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar

from tilecore.caller import keywords_checked, placed
from tilecore.compilation_cache.source_key import source_key
from tilecore.errors import ArgumentError, LanguageError, TargetError, WrongTypeError
from tilecore.frontend.function import PrimFunc
from tilecore.frontend.signature import definition_of
from tilecore.interrupts import held_back
from tilecore.jit.argument_key import are_compared, key_of
from tilecore.jit.call_cache import CallCache
from tilecore.jit.call_text import call_text
from tilecore.jit.collection import collection_paused
from tilecore.jit.compile import compile_ir, ir_of
from tilecore.jit.eager import EagerKernel, is_eager
from tilecore.jit.eager_call import arguments_of, with_constants
from tilecore.jit.layered import by_source
from tilecore.jit.request import Request, make_request
from tilecore.jit.surroundings import Surroundings
from tilecore.signatures import signature_of
from tilecore.stage_times import recording, stage
from tilecore.tensors.torch_state import not_traced
from tilecore.transform import plain_pass_configs

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tilecore.jit.kernel import JITKernel

_P = ParamSpec("_P")
_KP = ParamSpec("_KP")
_T = TypeVar("_T")
_Ret = TypeVar("_Ret")


class JITImpl(Generic[_P, _KP, _T, _Ret]):
    """A function under ``@tilecore.jit``.

    Mode "lazy" (the function returns a T.prim_func): a call with Python values returns a compiled kernel, one for each
    combination of values. Mode "eager" (the body is the kernel): a call with tensors compiles for their shapes, runs
    and returns the outputs. Mode "kernel" (a T.prim_func): a call compiles once and runs.

    In annotations: ``JITImpl[P, KP, T, R]``: the parameters of the function and of its kernels, the result of a kernel
    and of a call.
    """

    def __init__(self, func: Any, settings: Mapping[str, Any]) -> None:
        self.func = func
        self.settings = dict(settings)
        self.mode = _mode(func)
        plain = func.function if isinstance(func, PrimFunc) else func
        functools.update_wrapper(self, plain)
        self.signature = signature_of(plain)
        self._kernels: dict[Any, JITKernel] = {}
        self._key_parts: dict[Any, Any] = {}  # of the keys of these kernels, each once
        self._calls: CallCache[JITKernel] = CallCache()
        self._variants: dict[str, JITImpl[_P, _KP, _T, _Ret]] = {}
        self._surroundings = Surroundings(plain)
        self._eager = EagerKernel(plain, self.request) if self.mode == "eager" else None
        self._own: JITKernel | None = None

    @functools.cached_property
    def _request(self) -> Request:
        return make_request(**self.settings)

    def request(self) -> Request:
        """The resolved settings. The default target is chosen when the first kernel is compiled."""
        return self._request

    # -- settings --------------------------------------------------------------------------------

    @property
    def out_idx(self) -> Any:
        """The setting as the user wrote it; ``out_idx`` of a kernel counts from 0."""
        return self.settings.get("out_idx")

    @property
    def execution_backend(self) -> str | None:
        return self.settings.get("execution_backend")

    @property
    def target(self) -> Any:
        return self.settings.get("target")

    @property
    def target_host(self) -> Any:
        return self.settings.get("target_host")

    @property
    def verbose(self) -> bool | None:
        return self.settings.get("verbose")

    @property
    def pass_configs(self) -> Mapping[Any, Any] | None:
        return self.settings.get("pass_configs")

    @property
    def debug_root_path(self) -> Any:
        return self.settings.get("debug_root_path")

    @property
    def compile_flags(self) -> Any:
        return self.settings.get("compile_flags")

    def with_pass_configs(self, configs: Mapping[Any, Any]) -> JITImpl[_P, _KP, _T, _Ret]:
        """The same function, compiled with these pass configurations besides its own."""
        merged = {**plain_pass_configs(self.pass_configs), **plain_pass_configs(configs)}
        name = repr(sorted(merged.items(), key=lambda item: item[0]))
        if name not in self._variants:
            self._variants[name] = JITImpl(self.func, {**self.settings, "pass_configs": merged})
        return self._variants[name]

    @functools.cached_property
    def func_source(self) -> str:
        """The source text of the function; raises OSError where its file does not exist."""
        return inspect.getsource(inspect.unwrap(self.func))

    def initialize_jit_mode(self, *args: Any, **kwargs: Any) -> Literal["lazy", "eager", "kernel"]:
        """The mode; it depends on the function's source only, not on the arguments.

        Raises TargetError for an eager function with ``out_idx``.
        """
        if self.mode == "eager":
            self.eager_kernel()
        return self.mode

    def is_lazy_mode(self) -> bool:
        return self.mode == "lazy"

    def eager_kernel(self) -> EagerKernel:
        """The kernels of an eager function. Raises TargetError for one with ``out_idx``."""
        assert self._eager is not None
        if self.out_idx is not None:
            raise TargetError(
                f"{self.func.__name__} is an eager kernel, which cannot have out_idx",
                found=f"out_idx={self.out_idx!r}",
                expected="outputs that the function allocates by T.empty and returns",
                hint="leave out out_idx, which is for functions that return a T.prim_func",
            )
        return self._eager

    # -- calling ----------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.mode == "eager":
            return self.eager_kernel()(*args, **kwargs)
        if self.mode == "kernel":
            return self.compile()(*args, **kwargs)
        return self.compile(*args, **kwargs)

    not_traced(__call__, 'torch.compile does not see into a kernel: make it @tilecore.jit(torch_op="mylib::name")')

    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The compiled kernel for these arguments.

        lazy: the function's values. eager: tensors (or T.Tensor types) and values; tensors may be left out where all
        T.const sizes are given by their names: ``compile(M=64, N=64, block_M=16)``.
        """
        if self.mode == "kernel":
            if self._own is None:
                self._own = compile_ir(lambda: ir_of(self.func), self.request())
            return self._own
        if self.mode == "eager":
            return self.eager_kernel().compile(*args, **kwargs)
        state = self._surroundings.now()
        known = self._calls.get(args, kwargs, state)
        if known is not None:
            return known
        key = self._memory_key(args, kwargs, state)
        if key is None:
            return self._compile(args, kwargs)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._compile(args, kwargs)
            self.keep(key, kernel)
        self._calls.put(args, kwargs, state, kernel)
        return kernel

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JITKernel:
        with recording("a kernel", self.verbose), held_back(), collection_paused():
            request = self.request()
            with stage("cache"):
                source = source_key(self.func, args, kwargs)
                key, bundle_key = request.key_from(source), by_source(request, source)
            try:
                name = self.func.__name__
                call = functools.partial(call_text, name, args, kwargs)
                return compile_ir(lambda: self.get_tir(*args, **kwargs), request, key, bundle_key, name, call)
            except LanguageError as error:
                error.hint = self._tensors_given(args, kwargs) or error.hint
                raise

    def _tensors_given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """The hint for a lazy function that was called with tensors; None for other calls."""
        if not any(hasattr(value, "shape") and hasattr(value, "dtype") for value in (*args, *kwargs.values())):
            return None
        name, parameters = self.func.__name__, ", ".join(self.signature.parameters)
        return f"{name} returns a kernel, which takes the tensors: {name}({parameters})(tensors...)"

    def get_tir(self, *args: Any, **kwargs: Any) -> Any:
        """The tile IR of the kernel for these arguments. Raises LanguageError."""
        if self.mode == "kernel":
            return ir_of(self.func)
        if self.mode == "eager":
            return self.eager_kernel().get_tir(*args, **kwargs)
        kernel_function = self.func(*args, **kwargs)
        if kernel_function is None or not (
            isinstance(kernel_function, PrimFunc) or type(kernel_function).__name__ == "PrimFunc"
        ):
            raise LanguageError(
                f"{self.__name__} returned {type(kernel_function).__name__}, not a kernel",  # type: ignore[attr-defined]
                expected="a function decorated with @T.prim_func",
                location=definition_of(inspect.unwrap(self.func)),
                hint="end the function with `return` and the name of the function under @T.prim_func; for an eager "
                "kernel, write `with T.Kernel(...)` in the function itself",
            )
        return ir_of(kernel_function)

    def call_signature(self, kwargs: Mapping[str, Any]) -> inspect.Signature:
        """The signature for a call with these keyword arguments; for an eager function with its T.const names."""
        return with_constants(self.signature, kwargs) if self.mode == "eager" else self.signature

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        """The emitted source for these arguments."""
        return self.compile(*args, **kwargs).get_kernel_source()

    def state(self) -> str | None:
        """A digest of the current values that the function reads besides its arguments; None where they are unknown."""
        return self._surroundings.now()

    def keep(self, key: Any, kernel: JITKernel) -> None:
        """Keep a kernel by its :meth:`memory_key`. Kernels differ in few arguments: their keys share the others."""
        arguments, state = key
        share = self._key_parts.setdefault
        self._kernels[tuple(share(part, part) for part in arguments), share(state, state)] = kernel

    def forget_kernels(self) -> None:
        """Forgets the kernels that this function's calls have made. The next calls look for them in other caches."""
        self._kernels.clear()
        self._key_parts.clear()
        self._calls.clear()
        if self._eager is not None:
            self._eager.forget_kernels()

    def memory_key(self, *args: Any, **kwargs: Any) -> Any:
        """The key of the kernel in memory, from the arguments and the values that the function reads.

        None where an argument or such a value cannot be compared by value: then the tile IR is built for each call.
        """
        return self._memory_key(args, kwargs, self.state())

    def _memory_key(self, args: tuple[Any, ...], kwargs: dict[str, Any], state: str | None) -> Any:
        key = self.parse_cache_key(*args, **kwargs)
        return None if state is None or not are_compared(key) else (key, state)

    def parse_cache_key(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The hashable key of the arguments, with defaults; for an eager function tensors by shape and element type."""
        if self._eager is not None:
            return self._eager.key_of(args, kwargs)
        bound = arguments_of(self.func.__name__, self.signature, args, kwargs)
        return tuple((name, key_of(value)) for name, value in bound.arguments.items())

    @keywords_checked
    def par_compile(
        self,
        configs: Iterable[Any],
        num_workers: int | None = None,
        ignore_error: bool = False,
        executor: Executor | None = None,
        progress: bool | None = None,
    ) -> list[JITKernel | None]:
        """Compile for many arguments at once; see :func:`tilecore.par_compile`."""
        from tilecore.jit.parallel import par_compile_configs

        return par_compile_configs(self, configs, num_workers, ignore_error, executor, progress)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.__dict__.get("mode") != "kernel":
            raise AttributeError(self._no_attribute(name))
        return getattr(self.compile(), name)

    def _no_attribute(self, name: str) -> str:
        """What to say of an attribute that the function lacks, and that its kernels may have."""
        from tilecore.jit.kernel import JITKernel

        function = getattr(self.__dict__.get("func"), "__name__", "it")
        if name.startswith("_") or not hasattr(JITKernel, name):
            return name
        way = f"{function}(...)" if self.mode == "lazy" else f"{function}.compile(...)"
        return f"{function} is a function that makes kernels; a kernel has {name}: {way}.{name}"

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        if self.mode != "kernel":
            raise TypeError(
                f"{self.func.__name__}[grid]: call the function with its arguments first, and then the kernel[grid]"
            )
        return self.compile()[grid]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: the instance is the first argument."""
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> str:
        """Pickled and copied by name, like functions."""
        return str(self.__qualname__)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<tilecore.jit {self.mode} {getattr(self.func, '__qualname__', self.func)}>"


def _mode(func: Any) -> Literal["lazy", "eager", "kernel"]:
    if isinstance(func, PrimFunc):
        return "kernel"
    if not inspect.isfunction(func):
        raise WrongTypeError(
            "tilecore.jit decorates functions only", found=type(func).__name__, expected="a function or a T.prim_func"
        )
    return "eager" if is_eager(func) else "lazy"


@placed
def jit(
    func: Any = None,
    *,
    out_idx: Any = None,
    target: Any = None,
    target_host: Any = None,
    execution_backend: str | None = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    debug_root_path: Any = None,
    compile_flags: Any = None,
    torch_op: str | None = None,
    backward: Any = None,
    setup_context: Callable[..., None] | None = None,
    autocast: Any = None,
    vmap: Any = None,
) -> Any:
    """Decorator: compiles the kernels of a function when it is called. Arguments: see :func:`tilecore.compile`.

    torch_op: "namespace::name" of the operation of torch that calls go to, for torch.compile, torch.export and others
    that record torch's operations (:class:`tilecore.jit.torch_function.TorchFunction`). backward, setup_context,
    autocast, vmap: its rules (:class:`tilecore.torch_ops.TorchOpRules`).
    """
    settings = {
        "out_idx": out_idx,
        "target": target,
        "target_host": target_host,
        "execution_backend": execution_backend,
        "verbose": verbose,
        "pass_configs": pass_configs,
        "debug_root_path": debug_root_path,
        "compile_flags": compile_flags,
    }
    rules = (backward, setup_context, autocast, vmap)
    if torch_op is None and any(rule is not None for rule in rules):
        raise ArgumentError(
            "jit(): backward, setup_context, autocast and vmap are rules of an operation of torch",
            found="no torch_op",
            expected='torch_op="namespace::name" beside them',
        )

    def make(function: Any) -> Any:
        if torch_op is None:
            return JITImpl(function, settings)
        from tilecore.jit.torch_function import TorchFunction
        from tilecore.torch_ops import TorchOpRules

        return TorchFunction(function, settings, torch_op, TorchOpRules(*rules))

    return placed(make) if func is None else make(func)


lazy_jit = jit
