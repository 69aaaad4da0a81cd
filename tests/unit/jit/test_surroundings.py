"""Kernels in memory are those of the globals and closures of this moment."""

from __future__ import annotations

import collections
import functools
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from fresh_processes import FOLDER, output_of

import tilecore
import tilecore.language as T
from tilecore.jit.surroundings import StateWarning, Surroundings

torch = pytest.importorskip("torch")

SCALE = 3
TABLE = {"offset": 1}
HERE = sys.modules[__name__]


def helper(x):
    return x + 100


@tilecore.jit(target="cpu", out_idx=-1)
def lazy(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = helper(A[i]) * SCALE

    return kernel


@tilecore.jit(target="cpu")
def eager(A):
    N = T.const("N")
    A: T.Tensor((N,), T.int32)
    B = T.empty((N,), T.int32)
    with T.Kernel(1):
        for i in T.Parallel(N):
            B[i] = helper(A[i]) * SCALE
    return B


ZEROS = np.zeros(4, np.int32)


@pytest.mark.parametrize("run", [lambda: lazy(4)(ZEROS)[0], lambda: eager(ZEROS)[0]], ids=["lazy", "eager"])
def test_a_changed_global_or_helper_gives_another_kernel(run, monkeypatch):
    assert run() == 300
    monkeypatch.setattr(HERE, "SCALE", 4)
    assert run() == 400
    monkeypatch.setattr(HERE, "helper", lambda x: x + 50)
    assert run() == 200
    monkeypatch.undo()
    assert run() == 300


def test_the_kernel_comes_back_with_the_value():
    kernel = lazy(4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HERE, "SCALE", 5)
        assert lazy(4) is not kernel
    assert lazy(4) is kernel


def test_a_closure_that_changes():
    amount = 1

    @tilecore.jit(target="cpu", out_idx=-1)
    def factory(n):
        change = amount

        @T.prim_func
        def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[i] = A[i] + change

        return kernel

    assert factory(4)(ZEROS)[0] == 1
    amount = 7
    assert factory(4)(ZEROS)[0] == 7
    amount = 1
    assert factory(4)(ZEROS)[0] == 1


def test_what_par_compile_made_is_found_only_under_the_same_globals(monkeypatch):
    (kernel,) = lazy.par_compile([9])
    assert lazy(9) is kernel
    monkeypatch.setattr(HERE, "SCALE", 6)
    assert lazy(9)(np.zeros(9, np.int32))[0] == 600


class Settings:
    width = 1

    def __init__(self):
        self.height = 1
        self.names = ["a"]

    def area(self):
        return self.width * self.height


class Slotted:
    __slots__ = ("depth",)


SETTINGS = Settings()
SLOTTED = Slotted()
SLOTTED.depth = 1
LIST = [1, [2]]
ARRAY = np.array([1, 2], np.int32)
TENSOR = torch.tensor([1, 2], dtype=torch.int32)
RAW = bytearray(b"ab")
ORDERED = collections.OrderedDict(a=1, b=2)
SPACE = types.SimpleNamespace(x=[1])
MEMBERS = {1, 2}
MODULE = types.ModuleType("settings_of_a_user")
MODULE.ROWS = 3
PART = functools.partial(helper, x=1)


def defaults(x=1, *, y=[1]):  # noqa: B006 - the mutable default is what is tested
    return x + y[0]


def reads(value):
    inner = [lambda: SCALE for _ in range(1)]
    total = value + len(inner) + helper(TABLE["offset"]) + np.int32(1) + LIST[1][0] + int(ARRAY[0]) + int(TENSOR[0])
    total += SETTINGS.area() + len(SETTINGS.names) + SLOTTED.depth + RAW[0] + len(ORDERED) + SPACE.x[0] + MODULE.ROWS
    return total + (1 in MEMBERS) + defaults() + PART()


def set_array_shape():
    ARRAY.shape = (2, 1)


CHANGES = {
    "a global": lambda: vars(HERE).update(SCALE=4),
    "the type of a global": lambda: vars(HERE).update(SCALE=3.0),
    "the sign of a zero": lambda: vars(HERE).update(SCALE=-0.0),
    "a global that goes": lambda: vars(HERE).pop("TABLE"),
    "a dict": lambda: TABLE.update(offset=2),
    "the type of what is in a dict": lambda: TABLE.update(offset=True),
    "a list in a list": lambda: LIST[1].append(3),
    "an array": lambda: ARRAY.__setitem__(0, 5),
    "the shape of an array": set_array_shape,
    "a tensor": lambda: TENSOR.add_(1),
    "a tensor, behind torch's back": lambda: TENSOR.numpy().__setitem__(0, 9),
    "bytes": lambda: RAW.append(1),
    "the order of a dict": lambda: ORDERED.move_to_end("a"),
    "an attribute": lambda: setattr(SETTINGS, "height", 2),
    "an attribute that hides that of the class": lambda: setattr(SETTINGS, "width", 2),
    "an attribute of a class": lambda: setattr(Settings, "width", 3),
    "a list in an object": lambda: SETTINGS.names.append("b"),
    "a method": lambda: setattr(Settings, "area", lambda self: 0),
    "a slot": lambda: setattr(SLOTTED, "depth", 2),
    "a namespace": lambda: SPACE.x.append(2),
    "a set": lambda: MEMBERS.add(3),
    "an attribute of a module": lambda: setattr(MODULE, "ROWS", 4),
    "a function": lambda: vars(HERE).update(helper=lambda x: x),
    "a default": lambda: setattr(defaults, "__defaults__", (2,)),
    "what is in a default": lambda: defaults.__kwdefaults__["y"].append(2),
    "the code of a function": lambda: setattr(helper, "__code__", (lambda x: x - 1).__code__),
    "an argument of a partial": lambda: PART.keywords.update(x=2),
    "a builtin that is hidden": lambda: vars(HERE).update(len=lambda x: 1),
}
ALL_CHANGES = """
import os, sys, traceback
sys.path += {folders!r}
import test_surroundings as here
from tilecore.jit.surroundings import Surroundings

def check(change):
    around = Surroundings(here.reads)
    before = around.now()
    assert before is not None and around.now() == before and around._state[1].holds()
    change()
    assert not around._state[1].holds(), "not noticed"
    assert around.now() not in (None, before), "the same, or not known"
    assert around.now() == Surroundings(here.reads).now(), "another digest for the same state"

failed = []
for name, change in here.CHANGES.items():
    child = os.fork()  # some of them cannot be undone
    if not child:
        try:
            check(change)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
assert not failed, failed
"""


def test_everything_that_is_read_counts():
    code = ALL_CHANGES.format(folders=[str(Path(__file__).parent), FOLDER])
    output_of(code)


def test_nothing_is_described_again_while_nothing_changes(monkeypatch):
    around = Surroundings(reads)
    first = around.now()
    snapshot = around._state
    assert around.now() == first
    assert around._state is snapshot
    monkeypatch.setattr(HERE, "SCALE", 5)
    assert around.now() != first
    monkeypatch.undo()
    assert around.now() == first, "by value"


def test_a_closure_with_nothing_in_it_yet():
    def function():
        return later

    around = Surroundings(function)
    empty = around.now()
    later = 3
    assert around.now() not in (None, empty)


class Opaque:
    """Like an object of a class in C: nothing tells what is in it."""

    def __init__(self, value):
        self.values = iter([value])
        self.value = value


OPAQUE = Opaque(1)


@tilecore.jit(target="cpu", out_idx=-1)
def lazy_opaque(n):
    amount = OPAQUE.value
    _ = OPAQUE.values

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] + amount

    return kernel


@tilecore.jit(target="cpu")
def eager_opaque(A):
    N = T.const("N")
    A: T.Tensor((N,), T.int32)
    B = T.empty((N,), T.int32)
    amount = len([OPAQUE.values]) * OPAQUE.value
    with T.Kernel(1):
        for i in T.Parallel(N):
            B[i] = A[i] + amount
    return B


@pytest.mark.parametrize(
    "run", [lambda: lazy_opaque(4)(ZEROS)[0], lambda: eager_opaque(ZEROS)[0]], ids=["lazy", "eager"]
)
def test_what_cannot_be_told_is_read_anew_for_every_call(run, monkeypatch):
    assert run() == 1
    with pytest.warns(StateWarning, match=r"built anew for every call.*iterator"):
        assert run() == 1
    monkeypatch.setattr(OPAQUE, "value", 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run() == 8
    assert lazy_opaque(4) is lazy_opaque(4), "by its IR"


def test_arguments_that_change_are_other_arguments():
    @tilecore.jit(target="cpu", out_idx=-1)
    def factory(n, settings, values):
        amount = settings.height + int(values[0])

        @T.prim_func
        def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[i] = A[i] + amount

        return kernel

    mine, values = Settings(), np.array([10])
    assert factory(4, mine, values)(ZEROS)[0] == 11
    mine.height = 2
    assert factory(4, mine, values)(ZEROS)[0] == 12
    values[0] = 20
    assert factory(4, mine, values)(ZEROS)[0] == 22
    assert factory(4, mine, values) is factory(4, mine, values)


def test_zeros_of_both_signs_are_two_arguments():
    @tilecore.jit(target="cpu", out_idx=-1)
    def factory(n, zero):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[i] = T.copysign(A[i], T.float32(zero))

        return kernel

    array = np.ones(4, np.float32)
    assert factory(4, 0.0)(array)[0] == 1.0
    assert factory(4, -0.0)(array)[0] == -1.0
    assert factory(4, float("nan")) is factory(4, float("nan"))


def test_a_tuned_kernel_is_that_of_this_moment():
    amounts = [1]

    @tilecore.autotune(configs={"block": [4, 8]}, warmup=1, rep=1)
    @tilecore.jit(target="cpu", out_idx=-1)
    def tuned(n, block=4):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
            with T.Kernel(T.ceildiv(n, block)) as bx:
                for i in T.Parallel(block):
                    B[bx * block + i] = A[bx * block + i] + amounts[0]

        return kernel

    zeros = np.zeros(8, np.int32)
    assert tuned(8)(zeros)[0] == 1
    amounts[0] = 5
    assert tuned(8)(zeros)[0] == 5
