"""Hunts: planted faults of a backend are found, cut down and written as files that run; the host is clean."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tilecore.jit.workers import WorkerDied
from tilecore.testing.fuzz.generate import generate
from tilecore.testing.fuzz.hunt import Hunt, Plan
from tilecore.testing.fuzz.judges import Judge, Place
from tilecore.testing.fuzz.oracle import Reference, Verdict
from tilecore.testing.fuzz.printing import source_of
from tilecore.testing.fuzz.program import Alloc, Buffer, Kernel, Name, Num, Program, Tile
from tilecore.testing.fuzz.tally import Tally

pytestmark = pytest.mark.rotated

FAULTY = Path(__file__).parents[2] / "fixtures" / "faulty_backend"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FAULTY))


def place(fault):
    return Place(f"faulty -fault={fault}", module="tile_faulty")


def seeds_with(word, count):
    """Seeds of short kernels that have it."""
    texts = ((seed, source_of(generate(seed))) for seed in range(3000))
    return list(itertools.islice((seed for seed, text in texts if word in text and len(text) < 2600), count))


def seed_without():
    return next(s for s in range(100) if "T.reduce" not in source_of(generate(s)))


def hunt(fault, tmp_path, count=1, **others):
    plan = Plan(place(fault), seeds_with("T.reduce_max(", count), tmp_path, **others)
    return Hunt(plan).run()


def test_a_wrong_pass_is_found_and_cut_down(tmp_path):
    tally = hunt("wrong_maximum", tmp_path, count=2, effort=(250, 60.0))
    assert tally.kernels == 2
    wrong = [finding for finding in tally.findings if finding.verdict.kind == "wrong"]
    assert wrong
    smallest = min(wrong, key=lambda finding: finding.lines)
    text = smallest.path.read_text()
    assert "T.reduce_max(" in text
    assert smallest.lines <= 12, text
    ended = run_file(smallest.path, "--target", "cpu")
    assert (ended.returncode, ended.stdout) == (0, "the same on cpu as by the interpreter\n"), ended.stderr
    offered = smallest.path.with_name("offered.py")
    offered.write_text("import tile_faulty\n" + text)
    ended = run_file(offered)
    assert ended.returncode == 1
    assert "elements differ" in ended.stdout


def run_file(path, *words):
    folders = os.pathsep.join([str(FAULTY), *sys.path])
    environment = {**os.environ, "PYTHONPATH": folders, "TILECORE_DISABLE_CACHE": "1"}
    return subprocess.run([sys.executable, str(path), *words], capture_output=True, text=True, env=environment)


def test_the_same_hunt_without_the_fault_is_clean(tmp_path):
    tally = hunt("none", tmp_path, count=2)
    assert tally.kinds["ok"] == 2
    assert not tally.findings
    assert not list(tmp_path.iterdir())


def test_a_crash_is_found_and_the_hunt_goes_on(tmp_path):
    plan = Plan(place("crash"), [*seeds_with("T.reduce_max(", 1), seed_without()], tmp_path, effort=(1, 60.0))
    tally = Hunt(plan).run()
    assert dict(tally.kinds) == {"crash": 1, "ok": 1}
    assert "SIGABRT" in tally.findings[0].verdict.text


def test_a_hang_is_found(tmp_path):
    tally = hunt("hang", tmp_path, timeout=4.0)
    assert [finding.verdict.kind for finding in tally.findings] == ["hang"]
    assert tally.findings[0].path.read_text().startswith('"""hang on faulty')


def test_an_error_of_the_compiler_is_found_and_one_sort_is_cut_down_few_times(tmp_path):
    tally = hunt("raises", tmp_path, count=5, effort=(4, 60.0))
    assert {finding.verdict.kind for finding in tally.findings} == {"error"}
    assert "plant_fault" in tally.findings[0].verdict.text
    assert sum(finding.path is not None for finding in tally.findings) == 3


def test_a_hunt_keeps_to_its_time_whatever_it_finds(tmp_path):
    """Kernels that hang and findings that take long to cut down are left as they are; the numbers are there."""
    for fault, kind in (("hang", "unfinished"), ("raises", "found")):
        written = tmp_path / fault / "numbers.json"
        plan = Plan(
            place(fault), itertools.cycle(seeds_with("T.reduce_max(", 1)), tmp_path / fault, seconds=8.0, jobs=2,
            effort=(10**6, 10**6), written=written,
        )  # fmt: skip
        start = time.monotonic()
        tally = Hunt(plan).run()
        assert time.monotonic() - start < 18
        facts = json.loads(written.read_text())
        assert facts["kernels"] == tally.kernels == sum(facts["kinds"].values())
        assert facts["unfinished"] == tally.unfinished
        assert (tally.unfinished == 2) if kind == "unfinished" else tally.findings
        assert facts["target"] == f"faulty -fault={fault}"
        assert not list(written.parent.glob(".numbers*"))


def test_a_crash_of_the_interpreter_is_a_finding(monkeypatch):
    with Judge(Place("cpu")) as judge:
        monkeypatch.setattr(judge, "_call", died)
        verdict = judge.reference(generate(0))
    assert verdict.kind == "crash"
    assert "by the interpreter" in verdict.text


def died(function, *args):
    raise WorkerDied("the process that ran it was killed by SIGSEGV")


def test_an_interpreter_process_that_is_killed_is_started_again(tmp_path):
    with Judge(Place("cpu")) as judge:
        assert isinstance(judge.reference(generate(0)), Reference)
        os.kill(judge._worker.pid, signal.SIGKILL)
        assert isinstance(judge.reference(generate(1)), Reference)
        assert judge.verdict(generate(1)).kind == "ok"


def test_what_a_kernel_before_has_spoilt_is_told_apart(monkeypatch):
    """The second kernel of a process is wrong, and right in one of its own; the third is wrong there too."""
    spoilt, processes = Verdict("error", "no memory", "no memory left"), []
    with Judge(Place("cpu")) as judge:
        judge.judged = 2
        monkeypatch.setattr(judge, "fresh", lambda: processes.append(setattr(judge, "judged", 0)))
        monkeypatch.setattr(judge, "verdict", lambda *args: Verdict("ok") if processes else spoilt)
        first = judge.confirmed(generate(0), None)
        assert (first.kind, first.signature, len(processes)) == ("error", "error: not alone", 1)
        assert first.text == "no memory left; alone it is right, so that a kernel before may be the cause"
        monkeypatch.setattr(judge, "verdict", lambda *args: spoilt)
        judge.judged = 2
        assert judge.confirmed(generate(0), None) == spoilt
        assert len(processes) == 2
        judge.judged = 1
        assert judge.confirmed(generate(0), None) == spoilt
        assert len(processes) == 2, "it was alone"


def test_a_fault_of_a_device_ends_its_process(monkeypatch):
    """All that comes after it in the process would fail too, and nothing could be cut down."""
    verdicts = [
        Verdict("error", "LaunchError: illegal address"),
        Verdict("ok"),
        Verdict("wrong", "wrong"),
        Verdict("ok"),
    ]
    with Judge(Place("cpu")) as judge:
        started = []
        fresh = judge.fresh
        monkeypatch.setattr(judge, "fresh", lambda: started.append(len(verdicts)) or fresh())
        monkeypatch.setattr(judge, "_call", lambda *args: verdicts.pop(0))
        kinds = [judge.verdict(generate(0), Reference([], [])).kind for _ in range(4)]
    assert kinds == ["error", "ok", "wrong", "ok"]
    assert started == [3]


def test_a_second_call_is_compared_too():
    program = next(p for p in map(generate, range(3000)) if 0 in dict(p.second_sizes).values() and not p.special)
    with Judge(Place("cpu")) as judge:
        meant = judge.reference(program)
        assert judge.verdict(program, meant).kind == "ok"
        other = [a + 1 if hasattr(a, "shape") else a for a in meant.second_call.outputs]
        wrong = judge.verdict(program, replace(meant, second_call=replace(meant.second_call, outputs=other)))
        if any(getattr(a, "size", 0) for a in other):
            assert (wrong.kind, wrong.signature) == ("wrong", "wrong at the other call")


def test_rejections_with_a_reason_are_counted():
    place_ = Place("cpu", "nothing like that")
    with Judge(place_) as judge:
        program = generate(1)
        verdict = judge.verdict(program)
    assert verdict.kind == "rejected"
    assert "has no execution backend" in verdict.signature
    tally = Tally()
    for seed in range(10, 15):
        tally.add(seed, verdict)
    assert tally.facts()["rejections"] == {verdict.signature: {"kernels": 5, "seeds": [10, 11, 12]}}


def test_a_kernel_that_is_too_large_is_rejected():
    tile = Buffer("s", ("BM", "BM"), "float64", "shared", 1)
    body = (Alloc(tile), Tile("clear", (Name("s"),)), Tile("copy", (Name("s"), Name("X"))))
    tensor = Buffer("X", ("BM", "BM"), "float64", "global", 1)
    program = Program(0, True, (("BM", 400),), (), (tensor,), (), (Kernel(("b",), (Num(1),), 32, body),))
    with Judge(Place("cuda")) as judge:
        verdict = judge.verdict(program)
    assert verdict.kind == "rejected", verdict
    assert "LimitError" in verdict.signature


def test_other_tiles_and_stages(tmp_path):
    tally = Hunt(Plan(Place("cpu"), range(3), tmp_path, metamorphic=True)).run()
    assert tally.variants >= 3
    assert not tally.findings


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Judge(Place("cpu")) as judge:
        program = generate(0)
        assert isinstance(judge.reference(program), Reference)
        assert judge.verdict(program).kind == "ok"
    assert not list(tmp_path.iterdir())


def command(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tilecore", "fuzz", *words], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(FAULTY), *sys.path]), **environment},
    )  # fmt: skip


def test_the_command_finds_nothing_on_the_host(tmp_path):
    ended = command("--count", "25", "--out", str(tmp_path / "found"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.startswith("25 kernels on cpu in ")
    assert "     0 findings" in ended.stdout
    assert not (tmp_path / "found").exists()


def test_the_command_fails_with_findings(tmp_path):
    (seed,) = seeds_with("T.reduce_max(", 1)
    target = "faulty -fault=raises"
    ended = command("--target", target, "--module", "tile_faulty", "--only", str(seed), "--out", str(tmp_path),
                    "--json", str(tmp_path / "numbers.json"))  # fmt: skip
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "     1 findings" in ended.stdout
    assert f"error: seed {seed}: " in ended.stdout
    facts = json.loads((tmp_path / "numbers.json").read_text())
    assert (facts["kernels"], facts["kinds"], facts["seeds"]) == (1, {"error": 1}, [seed, seed])
    (finding,) = facts["findings"]
    assert (finding["seed"], finding["kind"]) == (seed, "error")
    assert Path(finding["file"]).is_file()
    assert len(list(tmp_path.glob("*.py"))) == 1


def test_wrong_words_are_refused():
    assert "at least 1" in command("--jobs", "0").stderr
    assert "no installed backend" in command("--target", "nobody").stderr
    assert "expected: native, auto" in command("--execution-backend", "nosuch").stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "ModuleNotFoundError: No module named 'offers_backends'"),
        ("1 // 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error(tmp_path, text, message):
    if text is not None:
        (tmp_path / "offers_backends.py").write_text(text)
    ended = command("--module", "offers_backends", PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"tilecore: the module of --module cannot be imported: {message}")
    assert "found: --module offers_backends" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_numbers_go_to_a_pipe_once_and_through_a_link(tmp_path, monkeypatch):
    """A reader of a pipe ends with the first document; a second one would wait for another reader."""
    monkeypatch.setattr("tilecore.testing.fuzz.hunt.SAVED_AFTER", -1.0)
    pipe, report, link = tmp_path / "pipe", tmp_path / "report.json", tmp_path / "link.json"
    os.mkfifo(pipe)
    link.symlink_to(report)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        try:
            Hunt(Plan(Place("cpu"), [0, 1], tmp_path, written=pipe)).run()
            text = reader.communicate(timeout=30)[0]
        finally:
            reader.kill()
    assert json.loads(text)["kernels"] == 2
    assert pipe.is_fifo()
    Hunt(Plan(Place("cpu"), [0, 1], tmp_path, written=link)).run()
    assert link.is_symlink()
    assert json.loads(report.read_text())["kernels"] == 2
