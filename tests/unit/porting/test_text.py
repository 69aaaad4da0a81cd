"""What ``tilecore port`` prints: one entry for a problem, a summary of a folder, progress for people."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import ClassVar

import pytest

from tilecore import cli
from tilecore.commands import port
from tilecore.porting.judge import judge_file
from tilecore.porting.report import Finding, problems
from tilecore.porting.text import lines_of_file


def lines(tmp_path, text):
    """The printed lines, without the name of the file."""
    path = tmp_path / "program.py"
    path.write_text(dedent(text), encoding="utf-8")
    return [line.removeprefix(str(path)) for line in lines_of_file(judge_file(path))]


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["port", *map(str, words)])
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def test_a_problem_is_one_entry_with_all_of_its_lines(tmp_path):
    text = """\
        import tilecore as tilelang
        import tilecore.language as T
        T.arange(1)
        T.no_such_name(1)
        T.arange(2), T.arange(3)
        T.arange(4)
        tilelang.layout.cute.E(1)
        tilelang.layout.cute.size(1); tilelang.layout.cute.E(2)
        x = tilelang.layout.cute.size
    """
    assert lines(tmp_path, text) == [
        ":3:1: the tile language has no T.arange",
        "    help: `for i in T.Parallel(n)` gives the indices 0 to n - 1, one an iteration",
        "    also: on lines 5, 6",
        ":4:1: T.no_such_name: tilecore.language has no 'no_such_name'",
        ":7:1: tilelang.layout.cute.E: tilecore.layout.cute is a part of TileLang's own compiler, which tilecore does "
        "not have",
        "    help: T.Layout(shape, function) makes a layout of any function of the indices",
        "    also: on line 8; tilelang.layout.cute.size on lines 8, 9",
        ": would not run: 3 problems, in 9 places",
    ]


def test_many_places_are_wrapped(tmp_path):
    text = "import tilecore.language as T\n" + "T.no_such_name\n" * 60
    *_, first, second, third, _ = lines(tmp_path, text)
    assert first.startswith("    also: on lines 3, 4, 5,")
    assert second.startswith("          ")
    assert third.endswith(" 60, 61")
    assert max(map(len, (first, second, third))) <= 120


def test_the_same_problem_with_other_advice_is_another_entry():
    advice = ("use a", "use b", "use a")
    first, other, same = (Finding(line, 1, "T.x", "is not there", instead) for line, instead in enumerate(advice, 1))
    assert [problem.findings for problem in problems([first, other, same])] == [(first, same), (other,)]


def test_json_has_every_finding_with_columns_from_1(tmp_path, capsys):
    path = tmp_path / "a.py"
    path.write_text("import tilecore.language as T\nT.arange(1)\né = 'é'; T.arange(2)\n", encoding="utf-8")
    _, text, _ = run(capsys, path, "--json")
    findings = json.loads(text)["files"][0]["findings"]
    assert [(finding["line"], finding["column"]) for finding in findings] == [(2, 1), (3, 10)]
    assert {finding["name"] for finding in findings} == {"T.arange"}
    path.write_text("import tilelang\nx = = 1\n")
    _, text, _ = run(capsys, path, "--json")
    (finding,) = json.loads(text)["files"][0]["findings"]
    assert (finding["line"], finding["column"], finding["name"]) == (2, 5, "")


BAD = "import tilelang\nimport tilelang.language as T\nT.arange(1)\nT.arange(2)\n"


def test_the_summary_of_several_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "bad.py": BAD + "T.no_such_name\n",
        "good.py": "import tilelang\n",
        "other.py": "import os\n",
        "worse.py": BAD,
        "broken.py": "if\n",
    }.items():
        (tmp_path / name).write_text(text)
    code, text, _ = run(capsys, ".")
    assert code == 1
    _, _, summary = text.partition("\n\n")
    assert summary == dedent("""\
        5 files: 1 would run, 3 would not, 1 does not import TileLang

        would not run:
          bad.py: 2 problems, in 3 places
          broken.py: 1 problem
          worse.py: 1 problem, in 2 places

        the most frequent problems:
          4 places in 2 files: the tile language has no T.arange
          1 place in 1 file: T.no_such_name: tilecore.language has no 'no_such_name'
          1 place in 1 file: this is no Python program: invalid syntax

        5 import lines of 3 files to change: --fix writes them, --diff shows the changes
    """)


def test_verdicts_of_single_files(tmp_path):
    assert lines(tmp_path, "import os\n") == [": does not import TileLang"]
    assert lines(tmp_path, "import tilecore\n") == [": nothing stands in the way"]
    assert lines(tmp_path, "import tilelang\n")[-1] == ": nothing else stands in the way"


class _Bar:
    """Stands in for the progress bar."""

    shown: ClassVar[list] = []

    def __init__(self, title, total, show=None):
        self.title, self.total, self.show, self.notes = title, total, show, []
        _Bar.shown.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def advance(self, note=""):
        self.notes.append(note)


def test_progress_is_shown_to_people_who_wait_for_several_files(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(port, "Progress", _Bar)
    monkeypatch.setattr(_Bar, "shown", [])
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("import tilelang\n")
    run(capsys, tmp_path)
    run(capsys, tmp_path / "a.py")
    several, one = _Bar.shown
    assert (several.total, several.show, several.notes) == (2, None, ["a.py", "b.py"])
    assert one.show is False


def test_no_progress_is_printed_where_nobody_watches(tmp_path, capsys):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("import tilelang\n")
    assert run(capsys, tmp_path)[2] == ""
