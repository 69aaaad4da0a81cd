"""LLVM IR to an object file, by the LLVM inside the apache-tvm wheel: nothing else needs to be installed."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

from tilecore import debug
from tilecore.backends.cpu import extensions, host_processor, systems
from tilecore.contract.records import BuildRequest, Found, Toolchain
from tilecore.errors import ToolchainError
from tilecore.target import Target


def find() -> Sequence[Found]:
    from importlib import metadata

    try:
        version = metadata.version("apache-tvm")
    except metadata.PackageNotFoundError:
        fix = "pip install 'apache-tvm==0.27.*'"
        return [Found("LLVM (in apache-tvm)", False, "the installed packages", allows="compile", fix=fix)]
    return [Found("LLVM (in apache-tvm)", True, "apache-tvm", version, "compile")]


def llvm_target(target: Target) -> dict[str, Any]:
    """The TVM target that makes LLVM emit code for ``target``."""
    from tilecore.backends.cpu.target import features_in
    from tilecore.ir.nodes import tvm

    options: dict[str, Any] = {"kind": "llvm", "opt-level": 3}
    features = sorted(features_in(target))
    attributes = [f"+{f}" for f in features]  # of a virtual machine's processor LLVM may guess one that has fewer
    if target.get("march") == "native" and _is_this_machine(target):
        options["mcpu"] = tvm.target.codegen.llvm_get_system_cpu()
        attributes = [*(f"-{f}" for f in _not_to_use(options["mcpu"], features)), *attributes]  # or one that has more
        bits = int(target.get("vector_bits") or 128)
        if bits == 512 and "avx512f" in features:
            attributes.append("-prefer-256-bit")
    if attributes:
        options["mattr"] = attributes
    triple = systems.triple_of(target)
    if triple is not None:
        options["mtriple"] = triple
    return options


def _not_to_use(processor: str, features: list[str]) -> list[str]:
    """Of the extensions that this machine's processor has by LLVM's name for it, those that kernels may not use."""
    brought = _brought_by(processor)
    if systems.host_machine() == systems.X86_64:
        return extensions.not_to_use(brought, features)
    flags = host_processor.fields().get("Features")
    return [] if flags is None else extensions.not_there(brought, flags)


@functools.lru_cache(maxsize=8)
def _brought_by(processor: str) -> frozenset[str]:
    """What LLVM takes a processor to have."""
    from tilecore.ir.nodes import tvm

    target = tvm.target.Target({"kind": "llvm", "mcpu": processor})
    return frozenset(str(name) for name in tvm.target.codegen.llvm_get_cpu_features(target))


def _is_this_machine(target: Target) -> bool:
    from tilecore.backends.cpu.target import host_features, host_model

    return target.get("model") == host_model() and str(target.get("features")) == ",".join(host_features())


def build(request: BuildRequest) -> tuple[bytes, str]:
    """Compile the module to a relocatable object. Flags change nothing, and a warning says so: there is no compiler to
    give them to."""
    if request.flags:
        warnings.warn(
            f"compile flags change nothing on target cpu, where LLVM compiles in this process: {request.name} has "
            f"{' '.join(request.flags)}; what it compiles for, the target's attributes say (-march, -features)",
            stacklevel=2,
        )
    from tilecore.backends.cpu.object_file import object_bytes

    return object_bytes(_compile(request), request.name), "object"


def _compile(request: BuildRequest) -> Any:
    from tilecore.backends.cpu.wrapper import wrap
    from tilecore.ir.nodes import tvm, tvm_ffi

    options = llvm_target(request.target)
    debug.command(f"LLVM in this process for {request.name}: {options}")
    target = tvm.target.Target(options)
    mod = wrap(request.source, request.symbols, target)
    try:
        return tvm_ffi.get_global_func("target.build.llvm")(mod, target)
    except Exception as error:
        raise ToolchainError(
            f"LLVM refused the code of {request.name}: {_reason(str(error))}",
            hint="TILECORE_DUMP=dir keeps the source; please report it",
        ) from error


def _reason(text: str) -> str:
    """Of what LLVM writes the line that says what is wrong; the last one may only point at a column."""
    lines = text.strip().splitlines()
    return next((line.strip() for line in reversed(lines) if "error:" in line), lines[-1].strip() if lines else "")


TOOLCHAIN = Toolchain(find=find, build=build)
