"""Resolves and checks the settings of a compilation, and builds a kernel with them."""

from __future__ import annotations

import contextlib
import logging
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from tilecore import debug, settings
from tilecore.codegen.source_callbacks import registration_of
from tilecore.compilation_cache.key import kernel_key
from tilecore.compilation_cache.versions import portable_versions, versions_for_key
from tilecore.compiler import CompileOptions, build_artifact
from tilecore.contract.adapter import INTERPRETED, SIMULATED
from tilecore.contract.records import PassOption
from tilecore.errors import TargetError, TilecoreError
from tilecore.jit.execution_names import ExecutionBackend, is_usual_name
from tilecore.plugins import manager
from tilecore.plugins.discovery import HOST_KIND
from tilecore.plugins.pass_options import LINE_DIRECTIVES, asks_for_lines, checked_pass_configs, keeps_lines
from tilecore.plugins.suitable import suitable_names
from tilecore.plugins.tvm_targets import is_tvm_target, kind_name
from tilecore.runtime.simulation import simulates
from tilecore.stage_times import recording, stage
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.compilation_cache.source_key import SourceKey
    from tilecore.contract.records import Backend

logger = logging.getLogger("tilecore.jit")  # level debug: compiled kernels and cache hits
DUMP_IR = PassOption("tl.enable_dump_ir", "write the files of every step, as debug_root_path does")
DUMP_IR_FOLDER = PassOption("tl.dump_ir_path", "the folder that tl.enable_dump_ir writes to", "./dump_ir", str)
OPTIONS = (DUMP_IR, DUMP_IR_FOLDER)  # the pass configurations that are read here, for every target


@dataclass(frozen=True)
class Request:
    """The resolved and checked settings of a compilation.

    debug_root: the folder for the files of every step, or None. is_adapter_chosen: whether the user chose the
    adapter, by name or by TILECORE_SIMULATE.
    """

    backend: Backend
    target: Target
    adapter: str
    options: CompileOptions
    debug_root: str | None = None
    is_adapter_chosen: bool = False

    def key_parts(self, *, with_toolchain: bool = True) -> dict[str, Any]:
        """The parts of the request that cache keys contain. with_toolchain: also the version of the toolchain."""
        backend, options = self.backend, self.options
        callback = registration_of(self.target.kind)
        return {
            **({"source_callback": callback} if callback else {}),
            "target": str(self.target),
            "adapter": self.adapter,
            "out_idx": tuple(options.out_idx),
            "pass_configs": {k: _plain(v) for k, v in options.pass_configs.items()},
            "compile_flags": tuple(options.compile_flags),
            "versions": versions_for_key(backend.package, backend.version, backend.module, backend.registration),
            **({"toolchain": backend.toolchain.version(self.target)} if with_toolchain else {}),
        }

    def portable_key(self, kind: str, digest: str, **facts: Any) -> str:
        """The key of a kernel in bundles: of what it computes, whatever compiles it, and for which devices.

        kind: what ``digest`` identifies, "source" or "ir". The target's kind is a part, its attributes are not: a
        bundle has kernels for several, and the best one is used (``KernelAdapter.fit``).
        """
        backend, parts = self.backend, self.key_parts(with_toolchain=False)
        versions = portable_versions(backend.package, backend.version, backend.module, backend.registration)
        return kernel_key({**parts, "target": self.target.kind, "versions": versions, kind: digest, **facts})

    @property
    def tells_places(self) -> bool:
        """Whether the compiled kernel names source lines: in errors, as in the interpreter and on simulated devices, or
        for profilers."""
        has_lines = asks_for_lines(self.options.pass_configs)
        return has_lines or self.adapter == INTERPRETED or simulates(self.adapter, self.backend)

    def key_from(self, source: SourceKey | None, **facts: Any) -> str | None:
        """The cache key of a kernel by its source and by ``facts`` of the call; None where the source has no key."""
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
    """Resolve and check the arguments that jit, compile and par_compile share. Raises TargetError, PluginError."""
    with stage("settings"):
        return _make_request(
            out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags, debug_root_path
        )


def _make_request(
    out_idx: Any,
    execution_backend: str | None,
    target: Any,
    target_host: Any,
    verbose: bool | None,
    pass_configs: Mapping[Any, Any] | None,
    compile_flags: str | Sequence[str] | None,
    debug_root_path: Any,
) -> Request:
    check_host(target_host)
    backend, resolved = manager.use_default() if target in (None, "auto") else manager.resolve(target)
    is_chosen = execution_backend not in (None, "", "auto")
    adapter = choose_adapter(backend, resolved, str(execution_backend) if is_chosen else settings.execution_backend())
    if adapter != INTERPRETED:
        resolved = backend.adapters[adapter].target(resolved)
    is_verbose = settings.verbose() if verbose is None else bool(verbose)
    configs = checked_pass_configs(pass_configs, backend, OPTIONS)
    if settings.line_info() and keeps_lines(backend.target):
        configs.setdefault(LINE_DIRECTIVES, True)
    folder = _dump_folder(configs) if debug_root_path is None else str(debug_root_path)
    options = CompileOptions(_positions(out_idx), configs, _flags(compile_flags), is_verbose)
    is_chosen = is_chosen or settings.simulate() or settings.execution_backend() not in ("auto", "")
    return Request(backend, resolved, adapter, options, folder, is_chosen)


def _dump_folder(configs: dict[str, Any]) -> str | None:
    """The folder that DUMP_IR asks for, for the files of every step, or None. Removes both keys from ``configs``."""
    enabled, folder = DUMP_IR.value_in(configs), DUMP_IR_FOLDER.value_in(configs)
    for option in OPTIONS:
        configs.pop(option.name, None)
    return str(folder) if enabled else None


def check_host(target_host: Any) -> None:
    """Raises TargetError for a target_host that is not the host.

    Its attributes, such as -mcpu, have no effect: the host's part of a launch is tilecore's launcher.
    """
    if target_host is None:
        return
    kind = kind_name(target_host) if is_tvm_target(target_host) else Target.parse(target_host).kind
    names = (HOST_KIND, *manager.target_spec(HOST_KIND).aliases)
    if kind not in names:
        raise TargetError(
            f"target_host={target_host!r} is not the host",
            found=f"target {kind!r}",
            expected=" or ".join(map(repr, names)),
            hint="leave out target_host",
        )


def _positions(out_idx: Any) -> tuple[int, ...]:
    """``out_idx`` as Python ints; their range is checked when the kernel's parameters are known."""
    many = isinstance(out_idx, Iterable) and not isinstance(out_idx, (str, bytes, Mapping))
    positions = [] if out_idx is None else list(out_idx) if many else [out_idx]
    for position in positions:
        if isinstance(position, bool) or not hasattr(type(position), "__index__"):
            raise TargetError(
                "out_idx must be positions of parameters",
                found=repr(out_idx),
                expected="an int or a list of ints, such as -1",
            )
    return tuple(operator.index(position) for position in positions)


def _flags(compile_flags: Any) -> tuple[str, ...]:
    many = isinstance(compile_flags, Iterable) and not isinstance(compile_flags, str)
    flags = tuple(compile_flags) if many else () if compile_flags is None else (compile_flags,)
    if not all(isinstance(flag, str) for flag in flags):
        raise TargetError("compile_flags must be text", found=repr(compile_flags), expected='"-a" or ["-a", "-b"]')
    return flags


def choose_adapter(backend: Backend, target: Target, requested: str) -> str:
    """The name of the execution backend; for "auto" the first of those that run kernels of ``target`` that is available
    here, else the first of them.

    TILECORE_INTERPRET chooses the interpreter, TILECORE_SIMULATE the simulated device (the interpreter where the target
    has none), whatever ``requested`` is. Raises TargetError for an unknown name.
    """
    names = list(backend.adapters)
    if settings.interpret() or (settings.simulate() and SIMULATED not in names):
        return INTERPRETED
    if SIMULATED in names and settings.simulate():
        return SIMULATED
    if is_usual_name(requested, names):
        requested = settings.execution_backend()
        requested = "auto" if is_usual_name(requested, names) else requested
    if requested not in ("auto", ""):
        if requested not in names:
            raise TargetError(
                f"target {target.kind!r} has no execution backend {requested!r}",
                expected=", ".join(dict.fromkeys([*get_args(ExecutionBackend), *names])),
                hint="the environment variable TILECORE_EXECUTION_BACKEND sets it"
                if requested == settings.execution_backend()
                else _targets_with(requested),
            )
        return requested
    suitable = suitable_names(backend, target) or names
    for name in suitable:
        if backend.adapters[name].available(target).present:
            return name
    return suitable[0]


def _targets_with(name: str) -> str | None:
    """A hint that names the installed targets that have an execution backend; None where none has it."""
    kinds = []
    for kind in manager.kinds():
        with contextlib.suppress(TilecoreError):
            if name in manager.get(kind).adapters:
                kinds.append(repr(kind))
    return f"target {' or '.join(kinds)} has it" if kinds else None


def files_of(request: Request) -> str | None:
    """The folder for the files of every step, or None. With a folder the cache is not read."""
    return request.debug_root or settings.dump()


def ir_key(func: Any, request: Request) -> str:
    """The cache key of tile IR with the settings of ``request``: the same in every process and on every machine."""
    text, places = _text_and_places(func, request)
    return kernel_key({"ir": text, "places": places, **request.key_parts()})


def portable_ir_key(func: Any, request: Request) -> str:
    """The key of tile IR in bundles."""
    text, places = _text_and_places(func, request)
    return request.portable_key("ir", text, places=places)


def _text_and_places(func: Any, request: Request) -> tuple[str, tuple[str, ...]]:
    """The text of tile IR, and where its statements stand in files, if the compiled code depends on that."""
    text = str(func.script(show_meta=True))
    if not request.tells_places and "device_assert" not in text:
        return text, ()
    from tilecore.jit.places import places_of  # imports TVM, which a warm start does not need

    return text, places_of(func)


def build(func: Any, request: Request) -> Artifact:
    """Compile a kernel to an artifact, with the debug output that the settings ask for."""
    name = str(func.attrs["global_symbol"])
    verbose = request.options.verbose
    with debug.compiling(name, request.debug_root, verbose), recording(f"{name} for {request.target.kind}", verbose):
        say(f"{name}: target {request.target}, execution backend {request.adapter}")
        artifact = build_artifact(func, request.backend, request.target, request.adapter, request.options)
    if settings.print_on_compilation() or request.options.verbose:
        steps = artifact.report.get("steps", {})
        debug.announce(f"compiled {name} for {request.target.kind} in {sum(steps.values()):.0f} ms")
    return artifact


def say(text: str) -> None:
    debug.say(debug.BACKEND, text)
    logger.debug(text)
