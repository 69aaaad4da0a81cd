"""Bundles of artifacts whose contents follow from their number, so that a test can tell a right answer from garbage."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Artifact, Entry, ScalarParam, Symbol, TensorParam
from tilecore.bundle_builder.write import BundledKernel, bundle_bytes
from tilecore.bundles.format import Argument


def key_of(name: object) -> str:
    return sha256(str(name).encode()).hexdigest()


def artifact_of(number: int, target: str = "cpu -march=x") -> Artifact:
    return Artifact(
        name=f"kernel_{number}",
        target=target,
        backend="tilecore",
        adapter="native",
        params=(TensorParam("A", "float32", (DimExpr("M"), number + 1)), ScalarParam("scale", "float32")),
        symbols=(Symbol("M", ("shape", 0, 0)),),
        workspaces=(),
        entries=(Entry("main", (DimExpr(("//", "M", 4)), 1, 1)),),
        out_idx=(0,),
        source=f"; é {number}\n" * 10,
        source_format="ll",
        binary=bytes([number % 256]) * (100 + number),
        binary_format="object",
        versions={"tilecore": "1"},
        report={"steps": {"lower": 1.5}},
    )


def kernel_of(number: int, target: str = "cpu -march=x", machine: str = "") -> BundledKernel:
    arguments = (Argument("M", str(number), False), Argument("dtype", "'float32'", True))
    label = f"make({number})"
    return BundledKernel("make", label, arguments, artifact_of(number, target), (key_of(number),), machine)


def written(path: Path, kernels: Sequence[BundledKernel], private_key: Any = None) -> Path:
    """A bundle at ``path`` that this user owns and nobody else can write to."""
    path.write_bytes(bundle_bytes(kernels, private_key))
    path.chmod(0o644)
    return path


def as_user(user: int, work: Callable[[], object]) -> str:
    """What ``work()`` returns, or the error that it raises, as text: run by another user, in a forked child, as
    Python's own modules may be readable for this user only."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        text = "the child ended without a result"
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            text = str(work())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        finally:
            os.write(writing, text.encode()[:60000])
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read().decode()
    os.waitpid(child, 0)
    return text


def reachable_for_all(folder: Path) -> None:
    """Let every user enter a temporary folder of pytest, which is the user's own."""
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.geteuid() and path != Path("/") and not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o055)


KERNELS = """
import tilecore
import tilecore.language as T


@tilecore.jit(out_idx=-1, target="cpu")
def add(M, N, dtype="float32"):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(M) as row:
            for column in T.Parallel(N):
                C[row, column] = A[row, column] + B[row, column]

    return kernel


@tilecore.jit(target="cpu")
def scaled(X, factor: float = 2.0):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(M) as row:
        for column in T.Parallel(N):
            Y[row, column] = X[row, column] * factor
    return Y


@T.prim_func
def twice(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            B[i] = 2 * A[i]


def tilecore_kernels():
    for size in (16, 32):
        yield add, (size, 8)
    yield "add(4, 4, dtype='int32')"
    yield scaled, {"M": 6, "N": 8}
    yield twice
"""
