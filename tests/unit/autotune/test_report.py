"""What a search says: lines for a log, bars on a terminal, a table afterwards."""

from __future__ import annotations

import functools
import io
import re
import sys

import pytest
from tunable_kernels import factory, plus_one

from tilecore.autotune import AutoTuner, autotune

QUICK = {"warmup": 1, "rep": 3, "timeout": 30, "ref_prog": plus_one}
CONFIGS = [
    {"block": 8, "moods": ("slow=5",)},
    {"block": 16, "moods": ("slow=3",)},
    {"block": 32, "amount": 2},
    {"block": 128},
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tune(target, configs=CONFIGS, verbose=False, **options):
    return autotune(configs=configs, **{**QUICK, **options})(factory(target, verbose=verbose)).tune(64)


def test_lines_for_a_log(moody, capsys):
    """What was tried, what became of each, the best so far, and the time."""
    result = tune(moody, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("[tilecore] add: ") for line in lines), lines
    text = re.sub(r"\d+\.\d s", "TIME", "\n".join(line.removeprefix("[tilecore] add: ") for line in lines))
    assert text.splitlines() == [
        "tuning 4 configurations (TIME)",
        "[block=128] failed to compile: ValueError: block 128 is larger than 64 (TIME)",
        "compiled: 3 compiled, 1 failed to compile (TIME)",
        f"[block=32, amount=2] wrong: {result.candidates[2].reason.splitlines()[0]} (TIME)",
        "checked: 2 right, 1 wrong (TIME)",
        "1 of 2: [block=8, moods=('slow=5',)] 6.0000 ms, best 6.0000 ms (TIME)",
        "2 of 2: [block=16, moods=('slow=3',)] 4.0000 ms, best 4.0000 ms (TIME)",
        "block=16, moods=('slow=3',), 4.0000 ms, ref_prog; 2 timed, 1 wrong, 1 failed to compile in TIME",
    ]


@pytest.mark.parametrize(
    ("verbose", "progress", "lines", "ends_with_table"),
    [
        (False, None, False, False),
        (False, False, False, False),
        (True, None, True, True),
        (True, False, False, True),
    ],
)
def test_who_asked_for_them(moody, capsys, verbose, progress, lines, ends_with_table):
    tune(moody, CONFIGS[:2], verbose=verbose, progress=progress)
    shown = capsys.readouterr().err
    assert ("tuning 2 configurations" in shown) == lines
    assert ("the fastest first" in shown) == ends_with_table


def test_bars_on_a_terminal(moody, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    tune(moody)
    shown = terminal.getvalue()
    for title in ("compiling", "checking", "timing"):
        assert title in shown
    assert "best 4.0000 ms" in shown
    assert "1 of 2" not in shown, "no lines beside the bars"
    assert re.search(r"\[tilecore\] add: block=16.* 4\.0000 ms, ref_prog; 2 timed, 1 wrong, 1 failed", shown)


def test_nothing_on_a_terminal_where_it_is_not_wanted(moody, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    tune(moody, CONFIGS[:2], progress=False)
    assert terminal.getvalue() == ""


def test_the_tuner_takes_it_too(moody, capsys):
    tuner = AutoTuner(functools.partial(factory(moody), 64), CONFIGS[:2]).set_profile_args(**QUICK, progress=True)
    tuner.run()
    assert "compiled: 2 compiled" in capsys.readouterr().err


def test_a_table_afterwards(moody):
    """The fastest first; a stored result knows the winner."""
    result = tune(moody)
    rows = result.table().splitlines()
    where = [next(i for i, row in enumerate(rows) if f"block={block}" in row) for block in (16, 8, 32, 128)]
    assert where == sorted(where)
    assert "4.0000" in rows[where[0]]
    assert "timed" in rows[where[0]]
    assert "wrong" in rows[where[2]]
    assert "('slow=3',)" in rows[where[0]], "brackets are no markup"
    assert max(map(len, result.table(60).splitlines())) <= 60
    stored = tune(moody)
    assert stored.from_cache
    assert "block=16" in stored.table()
    assert "block=8" not in stored.table()
