"""``tilecore explain FILE --targets ...`` as users see it."""

from __future__ import annotations

import json

import pytest

from tilecore.cli import main

from .conftest import SAMPLE


@pytest.fixture
def explain(small_targets, capsys):
    def run(*words: str):
        with pytest.raises(SystemExit) as ended:
            main(["explain", *words])
        return ended.value.code, *capsys.readouterr()

    return run


def test_a_table_and_the_lines(explain):
    code, out, _ = explain(str(SAMPLE), "--targets", "cpu;tiny;loopy")
    assert code == 1
    head, *rows = out.splitlines()
    assert head.split() == ["KERNEL", "cpu", "tiny", "loopy"]
    table = {row.split()[0]: row.split()[1:] for row in rows[:6]}
    assert table["matmul()"] == ["ok", "refused", "(1)", "ok"]
    assert table["scaled()"] == ["ok", "ok", "ok"]
    assert table["without_sizes"] == ["not", "compiled"] * 3
    assert "    T.cumsum(row, dim=1)" in out
    number = next(n for n, line in enumerate(SAMPLE.read_text().splitlines(), 1) if "T.cumsum" in line)
    assert f"{number} |         T.cumsum(row, dim=1)" in out
    assert "tiny: refused: T.cumsum is not among the tile operations of target tiny" in out
    assert "= help: use a T.serial loop" in out
    assert "tiny: compiles with any one of block_M=16, block_N=8, block_K=16, num_stages=1" in out
    assert "without_sizes was not compiled: it needs n" in out


def test_the_same_as_data(explain):
    code, out, _ = explain(str(SAMPLE), "--targets", "cpu;tiny", "--json")
    data = json.loads(out)
    assert code == 1
    assert data["taken"] is False
    assert [target["target"] for target in data["targets"]] == ["cpu", "tiny"]
    verdicts = {(v["kernel"], v["target"]): v for v in data["verdicts"]}
    assert len(verdicts[("demanding", "tiny")]["refusals"]) == 7
    assert verdicts[("matmul()", "tiny")]["changes"][-1] == "num_stages=1"
    (refusal,) = verdicts[("matmul()", "tiny")]["refusals"]
    assert refusal["kind"] == "LimitError"
    assert refusal["expected"] == "at most 16384 bytes on tiny: 9728 less"
    assert [left_out["label"] for left_out in data["left_out"]] == ["without_sizes"]
    for line in data["lines"]["demanding"]:
        assert SAMPLE.read_text().splitlines()[line["line"] - 1] == line["source"]
        assert line["said"]


def test_an_alternative_for_targets_that_refuse_the_first_call(explain):
    calls = "matmul() or matmul(block_M=64, num_stages=5) or matmul(num_stages=1)"
    code, out, _ = explain(f"{SAMPLE}:matmul", "--targets", "cpu;tiny", "--call", calls)
    assert code == 0
    _, row, *rows = out.splitlines()
    assert row.split() == ["matmul()", "ok", "slow", "(1),", "other", "call"]
    assert "tiny: compiles matmul(num_stages=1) instead: the kernel needs 26112 bytes of shared memory" in rows
    code, out, _ = explain(f"{SAMPLE}:matmul", "--targets", "cpu;tiny", "--call", calls, "--json")
    on_cpu, on_tiny = json.loads(out)["verdicts"]
    assert (on_cpu["call"], on_tiny["call"]) == ("", "matmul(num_stages=1)")
    calls = calls.rpartition(" or ")[0]
    code, out, _ = explain(f"{SAMPLE}:matmul", "--targets", "tiny", "--call", calls)
    assert code == 1
    assert "tiny: compiles with any one of" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--targets", "cpu;tiny", "--call", "matmul(num_stages=1)"], 0),
        (["--targets", "cpu"], 0),
        (["--targets", "cpu;tiny"], 1),
        (["--targets", "cpu", "--targets", "tiny"], 1),
    ],
)
def test_exit_code(explain, words, expected):
    code, out, _ = explain(f"{SAMPLE}:matmul", *words)
    assert code == expected, out


def test_a_kernel_that_was_not_compiled_is_no_success(explain):
    assert explain(f"{SAMPLE}:without_sizes", "--targets", "cpu")[0] == 1
    assert explain(f"{SAMPLE}:without_sizes", "--targets", "cpu", "--call", "without_sizes(7)")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--targets", "cpu", "--target", "cpu"], "--target does not work together with --targets"),
        (["--targets", "cpu", "--set", "a=1"], "--set does not work together with --targets"),
        (["--call", "matmul()"], "--call works only together with --targets"),
        (["--targets", "elsewhere"], "no installed backend offers the target 'elsewhere'"),
    ],
)
def test_options_that_do_not_go_together(explain, words, message):
    code, _, error = explain(str(SAMPLE), *words)
    assert code == 1
    assert message in error


def test_no_device_is_opened(explain, monkeypatch):
    from .tiny_backend import NullAdapter

    def opened(self, *arguments):
        raise AssertionError("a device was opened")

    for name in ("available", "load"):
        monkeypatch.setattr(NullAdapter, name, opened)
    assert explain(f"{SAMPLE}:scaled", "--targets", "tiny")[0] == 0
