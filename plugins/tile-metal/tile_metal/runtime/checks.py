"""What both execution backends check at load and launch, and the words for what the compiler refuses."""

from __future__ import annotations

import re
from math import prod

from tile_metal import families
from tile_metal.packed_scalars import ATTRIBUTE
from tile_metal.runtime import machine
from tile_metal.runtime.messages import writes_messages
from tilecore.artifact.records import Artifact, Entry, ScalarParam
from tilecore.codegen import places
from tilecore.errors import LaunchError, LimitError, ToolchainError
from tilecore.target import Target

FORMAT = "msl"
MATMUL2D_MACOS = (26, 2)  # pytorch pull request 196881: the order of elements changed there
MOST_THREADS = 2**32 - 1  # of a grid along an axis: positions in it are of type uint
_ERROR = re.compile(r"program_source:(\d+):\d+: (?:fatal )?error: ([^\n]*)")


def msl_of(artifact: Artifact) -> str:
    """The version of MSL that an artifact's program is written in, such as "3.2"."""
    return families.parse_msl(Target.parse(artifact.target).get("msl", families.DEFAULT_MSL))


def target_problem(target: Target) -> str:
    """Why this Mac does not run programs for a target, with what to do; "" where it does, or has no Metal."""
    mac = machine.machine()
    if mac is None:
        return ""
    family, version = str(target.get("family", "auto")), str(target.get("msl", "auto"))
    if mac.family is not None and family != "auto" and families.parse(family).number > mac.family:
        return f'{mac.gpu} is of family apple{mac.family}, and not {family}: use target="metal"'
    return machine.missing_msl(families.parse_msl(version), mac.macos) if version != "auto" else ""


def check_program(artifact: Artifact) -> bytes:
    """The program of an artifact. Raises LaunchError for one of another format, and LimitError for kernels that no GPU
    can run."""
    if artifact.binary_format != FORMAT:
        raise LaunchError(
            f"{artifact.name} has no program for Metal",
            found=f"a binary in format {artifact.binary_format!r}",
            expected=f'one in format "{FORMAT}"',
            hint=f'compile it with execution_backend="torch" or "metal"; this was {artifact.adapter!r}',
        )
    _check_primitives(artifact)
    scalars = len(scalar_dtypes(artifact))
    count = parameter_count(artifact) - scalars
    for entry in artifact.entries:
        buffers = count + (1 if entry.attributes.get(ATTRIBUTE) else scalars) + writes_messages(entry)
        if buffers > families.MAX_BUFFERS:
            raise LimitError(
                f"{entry.symbol} has more parameters than a Metal kernel can have",
                found=f"{buffers} tensors, workspaces, scalars and sizes",
                expected=f"at most {families.MAX_BUFFERS}: each takes a buffer slot",
                hint="put several tensors into one, or split the kernel",
            )
        if prod(entry.threads) > families.MAX_THREADS:
            raise LimitError(
                f"{entry.symbol} has threadgroups of {prod(entry.threads)} threads",
                expected=f"at most {families.MAX_THREADS}",
                hint="use fewer threads",
            )
    return artifact.binary


def _check_primitives(artifact: Artifact) -> None:
    """Raises LaunchError for products by ``matmul2d`` on a macOS with other elements in the lanes, or a virtual Mac."""
    mac = machine.machine()
    if mac is None or b"<MetalPerformancePrimitives/" not in artifact.binary:
        return
    if mac.macos < MATMUL2D_MACOS:
        needed, found = ".".join(map(str, MATMUL2D_MACOS)), ".".join(map(str, mac.macos))
        reason, advice = f"macOS {found}: from {needed} on lanes have the elements that it relies on", "update macOS"
    elif mac.family is None:
        reason, advice = f"{mac.gpu}, on which pipelines with matmul2d fail to build", "use a Mac of your own"
    else:
        return
    raise LaunchError(
        f"{artifact.name} multiplies by matmul2d, which does not run on this Mac",
        found=reason,
        hint=f'{advice}, or compile it without pass_configs={{"metal.matmul2d": True}}',
    )


def parameter_count(artifact: Artifact) -> int:
    """The number of parameters of a kernel: tensors, workspaces, scalars, and sizes that are no scalars."""
    sizes = sum(symbol.source[0] != "scalar" for symbol in artifact.symbols)
    return len(artifact.params) + len(artifact.workspaces) + sizes


def scalar_dtypes(artifact: Artifact) -> list[str]:
    """The element types of the parameters behind the tensors and workspaces, in order."""
    scalars = [p.dtype for p in artifact.params if isinstance(p, ScalarParam)]
    return scalars + [s.dtype for s in artifact.symbols if s.source[0] != "scalar"]


def check_pipeline(entry: Entry, threads: int, static_bytes: int) -> None:
    """Raises LimitError for a compiled kernel that cannot run with the threads of its threadgroups: without this, Metal
    would run nothing and say nothing. threads, static_bytes: the pipeline's most threads, its threadgroup memory."""
    if prod(entry.threads) > threads:
        raise LimitError(
            f"{entry.symbol} needs too many registers for its threadgroups of {prod(entry.threads)} threads",
            found=f"the compiler allows {threads} threads",
            hint="use smaller tiles, or fewer threads",
        )
    if static_bytes > families.SHARED_BYTES:
        raise LimitError(
            f"{entry.symbol} needs too much threadgroup memory",
            found=f"{static_bytes} bytes",
            expected=f"at most {families.SHARED_BYTES}",
            hint="use smaller tiles, or fewer stages of a pipelined loop",
        )


def check_grid(entry: Entry, grid: tuple[int, int, int]) -> None:
    """Raises LaunchError for a grid with more threads along an axis than positions can count."""
    for axis, blocks, threads in zip("xyz", grid, entry.threads, strict=True):
        if blocks * threads > MOST_THREADS:
            raise LaunchError(
                f"{entry.symbol}: the grid is too large along {axis}",
                found=f"{blocks} threadgroups of {threads} threads",
                expected=f"at most {MOST_THREADS} threads",
                hint="give each threadgroup more work, or spread the grid over more axes",
            )


def refused_program(artifact: Artifact, compiler: str, message: str) -> ToolchainError:
    """The error for a program that does not compile. compiler: its name. message: what it said."""
    match = _ERROR.search(message)
    if match is None:
        return ToolchainError(f"{compiler} failed on {artifact.name}: {message.strip()[:400]}", hint=_hint(artifact))
    lines = artifact.binary.decode(errors="replace").splitlines()
    return ToolchainError(
        f"{compiler} cannot compile the code of {artifact.name}: {match[2].strip()}",
        found=places.at(lines, int(match[1])),
        hint=_hint(artifact),
    )


def _hint(artifact: Artifact) -> str:
    mac = machine.machine()
    missing = machine.missing_msl(msl_of(artifact), mac.macos) if mac is not None else ""
    return missing or "TILECORE_DUMP=dir keeps the source; if the kernel is correct, please report this error"
