"""A process that compiles and runs kernels stays as it was: its files, directory, environment and output."""

from __future__ import annotations

import os

import numpy as np

import tilecore.language as T

from .kit import check, zeros

BEFORE = frozenset(os.environ)


def plus(number: int):
    """A kernel of its own for each number, so that none is compiled already."""

    @T.prim_func
    def plus_kernel(X: T.Tensor((40,), "int32"), Y: T.Tensor((40,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(40):
                Y[i] = X[i] + number

    return plus_kernel


def run(number, target):
    check(plus(number), target, np.arange(40, dtype=np.int32), zeros("int32", (40,)))


def test_nothing_is_printed(target, capfd):
    run(701, target)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_no_files_are_left(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(702, target)
    assert os.getcwd() == str(tmp_path.resolve()), "the process is in another directory now"
    assert not sorted(tmp_path.iterdir())


def test_the_environment_stays(target, monkeypatch):
    """As it was when this module was imported, so that what earlier kernels have set is set again."""
    for name in [name for name in os.environ if name not in BEFORE and not name.startswith(("TILECORE_", "PYTEST_"))]:
        monkeypatch.delenv(name)
    before = dict(os.environ)
    run(703, target)
    changed = sorted(name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name))
    assert not changed
