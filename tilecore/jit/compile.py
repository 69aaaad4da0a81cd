"""tilecore.compile: from a kernel function to a callable kernel, through the caches."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from tilecore import debug, settings
from tilecore.artifact.records import Artifact
from tilecore.cache.current import disk_cache
from tilecore.cache.disk import DiskCache
from tilecore.cache.key import kernel_key
from tilecore.cache.memory import MemoryCache
from tilecore.cache.source_key import SourceKey
from tilecore.cache.versions import versions_for_key
from tilecore.compiler import CompileOptions, build_artifact
from tilecore.contract.adapter import INTERPRETED, SIMULATED
from tilecore.contract.records import Backend
from tilecore.errors import LanguageError, LaunchError, Location, TargetError
from tilecore.interrupts import held_back, safe_point
from tilecore.jit.absent import made_here
from tilecore.jit.collection import collection_paused
from tilecore.jit.execution_names import ExecutionBackend, is_usual_name
from tilecore.jit.kernel import JITKernel
from tilecore.plugins import manager
from tilecore.plugins.discovery import HOST_KIND
from tilecore.plugins.guard import describe
from tilecore.plugins.tvm_targets import is_tvm_target, kind_name
from tilecore.runtime.simulation import simulates, warn_of_simulation
from tilecore.target import Target
from tilecore.transform import PassConfigKey, checked_pass_configs

logger = logging.getLogger("tilecore.jit")  # at the level debug: what is compiled, and what the caches give


@dataclass(frozen=True)
class Request:
    """Everything that decides how a kernel is compiled, besides the kernel: resolved and checked."""

    backend: Backend
    target: Target
    adapter: str
    options: CompileOptions
    debug_root: str | None = None
    adapter_asked: bool = False  # by name, or by TILECORE_SIMULATE

    def key_parts(self) -> dict[str, Any]:
        """What of it goes into cache keys."""
        backend, options = self.backend, self.options
        return {
            "target": str(self.target),
            "adapter": self.adapter,
            "out_idx": tuple(options.out_idx),
            "pass_configs": {k: _plain(v) for k, v in options.pass_configs.items()},
            "compile_flags": tuple(options.compile_flags),
            "versions": versions_for_key(backend.package, backend.version, backend.module),
            "toolchain": backend.toolchain.version(self.target),
        }

    @property
    def tells_places(self) -> bool:
        """Whether errors of running kernels name lines: those of the interpreter and of simulated devices do."""
        return self.adapter == INTERPRETED or simulates(self.adapter, self.backend)

    def key_from(self, source: SourceKey | None, **facts: Any) -> str | None:
        """The cache key that leads to a kernel from its source, and from ``facts`` of the call; None where the source
        has none."""
        if source is None:
            return None
        digest = source.placed if self.tells_places else source.digest
        return kernel_key({"source": digest, **facts, **self.key_parts()})


def _plain(value: Any) -> Any:
    return (
        value if isinstance(value, (str, int, float, bool, bytes, tuple, list, dict)) or value is None else str(value)
    )


def make_request(
    out_idx: Any = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: str | Sequence[str] | None = None,
    debug_root_path: Any = None,
) -> Request:
    """Resolve and check the arguments that jit, compile and par_compile share."""
    check_host(target_host)
    backend, resolved = manager.use_default() if target in (None, "auto") else manager.resolve(target)
    asked = execution_backend not in (None, "", "auto")
    adapter = choose_adapter(backend, resolved, str(execution_backend) if asked else settings.execution_backend())
    loud = settings.verbose() if verbose is None else bool(verbose)
    configs = checked_pass_configs(pass_configs)
    folder = _dump_folder(configs) if debug_root_path is None else str(debug_root_path)
    options = CompileOptions(_positions(out_idx), configs, _flags(compile_flags), loud)
    asked = asked or settings.simulate() or settings.execution_backend() not in ("auto", "")
    return Request(backend, resolved, adapter, options, folder, asked)


def _dump_folder(configs: dict[str, Any]) -> str | None:
    """Where TL_ENABLE_DUMP_IR writes the files of every step, as debug_root_path does; its keys decide nothing else."""
    wanted = configs.pop(PassConfigKey.TL_ENABLE_DUMP_IR.value, False)
    folder = configs.pop(PassConfigKey.TL_DUMP_IR_DIR.value, "./dump_ir")
    return str(folder) if wanted else None


def check_host(target_host: Any) -> None:
    """Raises TargetError for a target_host that is not the host. Its attributes, such as -mcpu, change nothing: the
    host's part of a launch is the launcher, which is part of tilecore."""
    if target_host is None:
        return
    kind = kind_name(target_host) if is_tvm_target(target_host) else Target.parse(target_host).kind
    names = (HOST_KIND, *manager.target_spec(HOST_KIND).aliases)
    if kind not in names:
        raise TargetError(
            f"target_host={target_host!r} is not the host", found=f"target {kind!r}", expected="leave it out"
        )


def _positions(out_idx: Any) -> tuple[int, ...]:
    """``out_idx`` as Python ints; which parameters there are is checked when the kernel is known."""
    many = isinstance(out_idx, Iterable) and not isinstance(out_idx, (str, bytes, Mapping))
    given = [] if out_idx is None else list(out_idx) if many else [out_idx]
    for number in given:
        if isinstance(number, bool) or not hasattr(type(number), "__index__"):
            raise TargetError(
                "out_idx must be positions of parameters", found=repr(out_idx), expected="an int or several, such as -1"
            )
    return tuple(operator.index(number) for number in given)


def _flags(compile_flags: Any) -> tuple[str, ...]:
    many = isinstance(compile_flags, Iterable) and not isinstance(compile_flags, str)
    flags = tuple(compile_flags) if many else () if compile_flags is None else (compile_flags,)
    if not all(isinstance(flag, str) for flag in flags):
        raise TargetError("compile_flags must be text", found=repr(compile_flags), expected='"-a" or ["-a", "-b"]')
    return flags


def choose_adapter(backend: Backend, target: Target, wanted: str) -> str:
    """The execution backend by name; for "auto" the first that can run here, else the first. With TILECORE_INTERPRET
    the interpreter, with TILECORE_SIMULATE the simulated device (the interpreter, where the target has none), whatever
    is wanted."""
    names = list(backend.adapters)
    if settings.interpret() or (settings.simulate() and SIMULATED not in names):
        return INTERPRETED
    if SIMULATED in names and settings.simulate():
        return SIMULATED
    if is_usual_name(wanted, names):
        wanted = settings.execution_backend()
        wanted = "auto" if is_usual_name(wanted, names) else wanted
    if wanted not in ("auto", ""):
        if wanted not in names:
            raise TargetError(
                f"target {target.kind!r} has no execution backend {wanted!r}",
                expected=", ".join(dict.fromkeys([*get_args(ExecutionBackend), *names])),
                hint="TILECORE_EXECUTION_BACKEND names it" if wanted == settings.execution_backend() else None,
            )
        return wanted
    for name in names:
        if backend.adapters[name].available(target).present:
            return name
    return names[0]


_kernels: MemoryCache[JITKernel] = MemoryCache()
_written: set[tuple[str, str]] = set()  # (folder, key) of kernels whose files this process has written


def files_of(request: Request) -> str | None:
    """The folder that the steps of a compilation are written to, if they are; then the cache is not read."""
    return request.debug_root or settings.dump()


def ir_of(func: Any) -> Any:
    """The tile IR of a T.prim_func, or of TVM's own PrimFunc."""
    from tilecore.frontend.function import PrimFunc

    if isinstance(func, PrimFunc):
        return func.ir
    if type(func).__name__ == "PrimFunc":
        return func
    code = getattr(func, "__code__", None)
    what = f"a {type(func).__name__} cannot be compiled" if code is None else f"{func.__qualname__} is no kernel"
    raise LanguageError(
        what,
        found=None if code is None else "a plain function",
        expected="a function decorated with @T.prim_func",
        hint="tilecore.jit compiles a function that returns one",
        location=None if code is None else Location(code.co_filename, code.co_firstlineno, 0),
    )


def compile(
    func: Any = None,
    out_idx: Any = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: str | Sequence[str] | None = None,
    debug_root_path: Any = None,
) -> JITKernel:
    """Compile a T.prim_func.

    out_idx: parameters (an int or several, negative from the end) that calls allocate and return, in this order.
    execution_backend: how to run it ("auto": the target's first that can). target: "auto", a name with attributes, a
    dict, a tilecore.Target or TVM's. target_host: the host, however it is written. pass_configs: by PassConfigKey.
    compile_flags: for the vendor's compiler. debug_root_path: a folder for the files of every step.
    """
    request = make_request(
        out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags, debug_root_path
    )
    return compile_ir(lambda: ir_of(func), request)


def compile_ir(
    make_ir: Callable[[], Any],
    request: Request,
    source_key: str | None = None,
    outputs: Callable[[], tuple[int, ...]] | None = None,
) -> JITKernel:
    """A kernel from the caches, or compiled. source_key: leads to the kernel without building its IR. outputs: the
    request's ``out_idx``, where only the IR tells them."""
    with held_back(), collection_paused():
        return _found_or_made(make_ir, request, source_key, outputs)


def _found_or_made(
    make_ir: Callable[[], Any],
    request: Request,
    source_key: str | None,
    outputs: Callable[[], tuple[int, ...]] | None,
) -> JITKernel:
    disk = disk_cache()
    if source_key is not None and files_of(request) is None:
        known = disk.resolve(source_key)
        if known is not None:
            kernel = _kernels.get(known)
            if kernel is not None:
                return kernel
            kernel = _stored(disk, known, request, make_ir)
            if kernel is not None:
                _kernels.put(known, kernel)
                return kernel
    func = make_ir()
    if outputs is not None:
        request = replace(request, options=replace(request.options, out_idx=outputs()))
    if request.adapter == INTERPRETED:
        return interpreted_kernel(func, request)
    key = ir_key(func, request)
    files = files_of(request)
    if files is not None and (files, key) not in _written:  # a kernel of the caches would leave no files
        _written.add((files, key))
        _kernels.put(key, _make(func, request, key))
    kernel = _kernels.get_or_make(key, lambda: _make(func, request, key))
    if source_key is not None:
        disk.link(source_key, key)
    return kernel


def interpreted_kernel(func: Any, request: Request) -> JITKernel:
    """A kernel that the interpreter runs: kept in memory only."""
    from tilecore.jit.interpreted import interpreted  # with numpy, which a warm start does without

    def make() -> JITKernel:
        artifact, backend = interpreted(func, request.backend, request.target, request.options)
        return kernel_of(artifact, replace(request, backend=backend), lambda: func)

    return _kernels.get_or_make(ir_key(func, request), make)


def ir_key(func: Any, request: Request) -> str:
    """The key of tile IR compiled by ``request``: the same in every process and on every machine."""
    text = str(func.script(show_meta=True))
    places: tuple[str, ...] = ()
    if request.tells_places or "device_assert" in text:
        from tilecore.jit.places import places_of  # with TVM, which a warm start does without

        places = places_of(func)
    return kernel_key({"ir": text, "places": places, **request.key_parts()})


def _make(func: Any, request: Request, key: str) -> JITKernel:
    disk = disk_cache()
    kernel = _stored(disk, key, request, lambda: func) if files_of(request) is None else None
    if kernel is not None:
        return kernel
    artifact = build(func, request)
    safe_point()
    disk.put(key, artifact)
    return kernel_of(artifact, request, lambda: func)


def _stored(disk: DiskCache, key: str, request: Request, make_ir: Callable[[], Any]) -> JITKernel | None:
    """The kernel of an entry on disk, or None. An entry that is whole and yet makes no kernel is set aside."""
    artifact = disk.get(key)
    if artifact is None:
        return None
    asked = str(request.target), request.adapter
    if (artifact.target, artifact.adapter) != asked:
        disk.discard(key, f"it is for {artifact.target} by {artifact.adapter}, not for {' by '.join(asked)}")
        return None
    try:
        kernel = kernel_of(artifact, request, make_ir, from_cache=True)
    except (TargetError, LaunchError):  # the device is not there, whatever the entry is
        raise
    except Exception as error:
        disk.discard(key, describe(error))
        return None
    _say(f"{artifact.name}: from the cache")
    return kernel


def kernel_of(
    artifact: Artifact, request: Request, make_ir: Callable[[], Any], *, from_cache: bool = False
) -> JITKernel:
    """The artifact of a request, loaded; where its device is not here, only compiled. make_ir: gives its tile IR when
    someone asks for it."""
    if not request.adapter_asked:
        warn_of_simulation(artifact, request.backend, request.target)
    kernel: JITKernel = made_here(artifact, request.backend, request.target, make_ir)
    kernel.from_cache = from_cache
    kernel.pass_configs = request.options.pass_configs
    return kernel


def build(func: Any, request: Request) -> Artifact:
    """Compile, with what the debugging switches ask for."""
    name = str(func.attrs["global_symbol"])
    with debug.compiling(name, request.debug_root, request.options.verbose):
        _say(f"{name}: target {request.target}, execution backend {request.adapter}")
        artifact = build_artifact(func, request.backend, request.target, request.adapter, request.options)
    if settings.print_on_compilation() or request.options.verbose:
        steps = artifact.report.get("steps", {})
        debug.announce(f"compiled {name} for {request.target.kind} in {sum(steps.values()):.0f} ms")
    return artifact


def _say(text: str) -> None:
    debug.say(debug.BACKEND, text)
    logger.debug(text)
