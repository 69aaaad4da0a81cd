"""Artifacts whose contents follow from their key, so that a test can tell a right answer from garbage."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Artifact, Entry, ScalarParam, Symbol, TensorParam, Workspace
from tilecore.cache import CacheWarning


def key_of(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def artifact_of(key: str, size: int = 3000) -> Artifact:
    """An artifact with every kind of part; its source and its binary (of ``size`` bytes) are made from the key."""
    blocks = DimExpr(("//", ("+", "M", 63), 64))
    binary = (bytes.fromhex(key) * (size // 32 + 1))[:size]
    return Artifact(
        name=f"kernel_{key[:6]}",
        target="cpu -mcpu=x",
        backend="tilecore",
        adapter="host",
        params=(
            TensorParam("A", "float16", (DimExpr("M"), 128), (128, 1), "r", 16),
            ScalarParam("scale", "float32"),
            TensorParam("C", "int4", (DimExpr("M"), 64), None, "w", 1, 2),
        ),
        symbols=(Symbol("M", ("shape", 0, 0)),),
        workspaces=(Workspace("w", "float32", (DimExpr(("max", "M", 8)),)),),
        entries=(Entry("main", (blocks, 4, 1), (128, 1, 1), DimExpr(("*", "M", 2)), 40, {"regs": [1, 2]}),),
        out_idx=(2,),
        source=f"// {key}\nint main() {{ return 'é'; }}\n",
        source_format="c",
        binary=binary,
        binary_format="object",
        versions={"tilecore": "0.1.0"},
        report={"ops": [{"name": "gemm", "chosen": "vector"}]},
    )


@contextlib.contextmanager
def recorded() -> Iterator[list[str]]:
    """The texts of the cache's warnings, of all of them."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    assert all(issubclass(warning.category, CacheWarning) for warning in caught)
    texts.extend(str(warning.message) for warning in caught)


def spawn(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked child, where any warning is an error; its process id. It exits with 0 or 1."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(60)
        warnings.simplefilter("error")
        work()
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def exit_status(child: int) -> int:
    """Wait for a child: 0 when its work was done."""
    return os.waitpid(child, 0)[1]
