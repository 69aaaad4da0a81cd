"""Which assumptions a launch checks, and that an artifact keeps them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.artifact.check import require_sound
from tilecore.artifact.dims import evaluate
from tilecore.artifact.records import Artifact
from tilecore.errors import LaunchError
from tilecore.ir.host_assumptions import host_assumptions


@pytest.fixture(scope="module")
def checked():
    n, m = T.dynamic("n"), T.dynamic("m")

    @T.prim_func
    def kernel(X: T.Tensor((n, m), "int32"), k: T.int32, x: T.float32, flag: T.bool, u: T.uint32):
        total = n * m
        with T.Kernel(n) as bx:
            T.assume(total % 4 == 0)
            T.assume(n < 10 or not (k < m))
            T.assume(T.cast(k, "int64") + 1 > 0)
            T.assume(T.max(n, m) == n)
            T.assume(u >= 1)
            # below: what only the device knows, or what the host would compute otherwise
            T.assume(bx < 3)
            T.assume(X[0, 0] > 0)
            T.assume(x > 0)
            T.assume(flag)
            T.assume(n % m == 0)
            T.assume(T.truncmod(k, 4) == 1)
            T.assume(T.cast(n, "uint8") == 3)
            T.assume(T.cast(k, "uint32") < 9)
            T.assume(u - 5 < 10)
            T.assume((n & 7) == 0)
            T.assume(n << 2 > 3)
            if m > 1:
                T.assume(n == 1)
            for _ in T.serial(m):
                T.assume(m > 1)
            X[bx, 0] = k

    return kernel


def test_those_that_the_host_computes_alike(checked):
    assumptions = host_assumptions(checked.ir)
    assert [a.text for a in assumptions] == [
        "total % 4 == 0",
        "n < 10 or not k < m",
        'T.Cast("int64", k) + T.int64(1) > T.int64(0)',
        "T.max(n, m) == n",
        "u >= T.uint32(1)",
    ]
    sizes = {"n": 8, "m": 2, "k": 1, "u": 1}
    assert all(evaluate(a.condition, sizes) for a in assumptions)
    assert [bool(evaluate(a.condition, {"n": 11, "m": 13, "k": -1, "u": 0})) for a in assumptions] == [False] * 5


def test_an_artifact_keeps_them(checked):
    artifact = tilecore.compile(checked, target="cpu").artifact
    assert len(artifact.assumptions) == 5
    again = Artifact.from_json(json.loads(json.dumps(artifact.to_json())), artifact.source, artifact.binary)
    require_sound(again)
    assert again.assumptions == artifact.assumptions
    with pytest.raises(ValueError, match="an assumption"):
        require_sound(Artifact.from_json({**artifact.to_json(), "assumptions": [[{"expr": "z"}, "z"]]}, "", b""))


def test_one_that_never_holds():
    """Of numbers that are known when the kernel is compiled: a mistake in the sizes, which the call names."""

    def sized(n):
        @T.prim_func
        def kernel(X: T.Tensor((n,), "int32")):
            with T.Kernel(1):
                T.assume(n % 4 == 0)
                X[0] = 1

        return tilecore.compile(kernel, target="cpu")

    x = np.zeros(8, np.int32)
    sized(8)(x)
    assert x[0] == 1
    with pytest.raises(LaunchError, match="assumption"):
        sized(6)(x[:6])


def test_the_interpreter_as_execution_backend(monkeypatch):
    monkeypatch.setenv("TILECORE_INTERPRET", "1")

    @T.prim_func
    def kernel(X: T.Tensor((4,), "int32"), k: T.int32):
        with T.Kernel(1):
            T.assume(k > 2)
            X[0] = k

    launch, x = tilecore.compile(kernel, target="cpu"), np.zeros(4, np.int32)
    launch(x, 3)
    assert x[0] == 3
    with pytest.raises(LaunchError, match="Assume: k > 2"):
        launch(x, 2)


def test_sizes_of_a_tensor_that_is_not_passed():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "int32"), Y: T.Tensor((4,), "int32"), use: T.int32):
        with T.Kernel(1):
            T.assume(n > 1)
            Y[0] = 1
            if use > 0:
                Y[1] = X[0]

    launch, y = tilecore.compile(kernel, target="cpu"), np.zeros(4, np.int32)
    launch(None, y, 0)
    launch(np.full(2, 5, np.int32), y, 1)
    assert y.tolist() == [1, 5, 0, 0]
    with pytest.raises(LaunchError, match="Assume: n > 1"):
        launch(np.zeros(1, np.int32), y, 0)
