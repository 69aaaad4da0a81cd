"""The table of the stages of a compilation: its rows add up, and it is printed once for each kernel."""

from __future__ import annotations

import gc
import re
import time

import pytest

import tilecore
import tilecore.language as T
from tilecore import stage_times
from tilecore.jit.compile import _kernels
from tilecore.stage_times import Stage, add_earlier, recording, rename, stage, table


@pytest.fixture(autouse=True)
def own_caches(monkeypatch, fresh_caches):
    """Every test begins with empty caches and without settings that print more."""
    for name in ("TILECORE_DEBUG", "TILECORE_VERBOSE"):
        monkeypatch.delenv(name, raising=False)


def rows_of(text):
    """(indent, name, milliseconds, percent) of each row below a title."""
    pattern = r"^( +)(\S.*?) +([0-9.]+) ms +([0-9.]+)%$"
    return [(len(a), b, float(c), float(d)) for a, b, c, d in re.findall(pattern, text, re.MULTILINE)]


def check_sums(text):
    """Each row that has rows below it is their sum, and so is the whole."""
    whole = float(re.search(r"time of .*: ([0-9.]+) ms", text)[1])
    rows = [(0, "whole", whole, 100.0), *rows_of(text)]
    assert len(rows) > 1
    for index, (indent, name, milliseconds, _) in enumerate(rows):
        parts = []
        for row in rows[index + 1 :]:
            if row[0] <= indent:
                break
            if row[0] == indent + 2:
                parts.append(row)
        if parts:
            assert sum(row[2] for row in parts) == pytest.approx(milliseconds, abs=0.01 * (len(parts) + 6)), name
            assert sum(row[3] for row in parts) == pytest.approx(100 * milliseconds / whole, abs=0.1 * len(parts)), name


def kernel():
    @T.prim_func
    def add(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                A[i] = A[i] + 1

    return add


def test_the_rows_of_a_compilation_add_up(capsys, monkeypatch):
    monkeypatch.setenv("TILECORE_DEBUG", "2")
    tilecore.compile(kernel(), target="cpu")
    text = capsys.readouterr().err
    check_sums(text)
    names = [row[1] for row in rows_of(text)]
    for name in ("settings", "front end", "lowering", "vectorize_loops", "code generation", "load", "cache"):
        assert names.count(name) == 1, name
    passes = [p["name"] for p in tilecore.compile(kernel(), target="cpu").artifact.report["passes"]]
    assert [name for name in names if name in passes] == passes, "each pass once, in order"


def test_a_kernel_from_the_cache_has_a_table_and_one_from_memory_none(capsys, monkeypatch):
    tilecore.compile(kernel(), target="cpu")
    _kernels.clear()
    monkeypatch.setenv("TILECORE_DEBUG", "2")
    again = kernel()
    assert tilecore.compile(again, target="cpu").from_cache
    text = capsys.readouterr().err
    assert "time of add for cpu, from the cache: " in text
    assert "lowering" not in text
    check_sums(text)
    tilecore.compile(again, target="cpu")
    assert "time of" not in capsys.readouterr().err


def test_jit_functions_have_one_table_per_kernel(capsys, monkeypatch):
    monkeypatch.setenv("TILECORE_DEBUG", "2")

    @tilecore.jit(target="cpu")
    def scaled(X, factor: float = 2.0):
        N = T.const("N")
        X: T.Tensor((N,), T.float32)
        Y = T.empty((N,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(N):
                Y[i] = X[i] * factor
        return Y

    @tilecore.jit(target="cpu")
    def filled(n):
        @T.prim_func
        def fill(A: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    A[i] = 1

        return fill

    for compile_it, name in ((lambda: scaled.compile(N=8), "scaled"), (lambda: filled(8), "fill")):
        compile_it()
        text = capsys.readouterr().err
        assert len(re.findall("time of", text)) == 1
        assert f"time of {name} for cpu: " in text
        assert "front end" in text
        check_sums(text)


def test_the_time_before_the_recording_counts(capsys):
    with recording("k", verbose=True):
        add_earlier("front end", 1.5)
        with stage("load", is_shown=True):
            pass
    text = capsys.readouterr().err
    check_sums(text)
    assert rows_of(text)[0][:3] == (2, "front end", 1500.0)


def test_nested_recordings(capsys):
    """Directly inside: one table. Inside a stage: a table of its own, and the outer one goes on."""
    with recording("outer", verbose=True):
        with recording("joined", verbose=True), stage("load", is_shown=True):
            pass
        with stage("front end"):
            with recording("inner", verbose=True):
                rename("the other kernel")
                with stage("load", is_shown=True):
                    time.sleep(0.002)
            assert "time of the other kernel: " in capsys.readouterr().err
        rename("the kernel")
    text = capsys.readouterr().err
    assert re.findall("time of (.*): ", text) == ["the kernel"]
    assert [row[:2] for row in rows_of(text) if row[1] != "other"] == [(2, "load"), (2, "front end")]
    check_sums(text)


def test_nothing_is_printed_or_kept_without_a_recording(capsys):
    with stage("load", is_shown=True):
        rename("k")
        add_earlier("front end", 1.0)
    with recording("k"), stage("load", is_shown=True):
        pass
    with recording("nothing is made", verbose=True), stage("cache"):
        pass
    assert capsys.readouterr().err == ""
    assert getattr(stage_times._state, "stack", None) is None


def test_errors_leave_no_recording_behind():
    before = list(gc.callbacks)
    with pytest.raises(ValueError, match="no"), recording("k", verbose=True), stage("load"):
        raise ValueError("no")
    assert stage_times._state.stack is None
    assert gc.callbacks == before


def test_garbage_collections_are_rows(capsys):
    with recording("k", verbose=True), stage("load", is_shown=True):
        gc.collect()
    assert "garbage collection of Python" in [row[1] for row in rows_of(capsys.readouterr().err)]


def test_a_stage_entered_twice_is_one_row():
    whole = Stage("k", 3.0)
    whole.part("cache").seconds += 1
    whole.part("cache").seconds += 1
    assert table(whole) == [
        "time of k: 3000.0 ms",
        f"{'  cache':40}{2000:10.2f} ms{2 / 3:7.1%}",
        f"{'  other':40}{1000:10.2f} ms{1 / 3:7.1%}",
    ]
