"""The first run of a backend: its processes, commands, examples, report, and benchmarks, with a machine on the host."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tilecore.errors import ArgumentError
from tilecore.testing.first_run import command_line, commands, examples, processes, report, requirements
from tilecore.testing.first_run.benchmarks import Benchmark, Peer, measure
from tilecore.testing.first_run.machine import Machine, batch_milliseconds
from tilecore.testing.first_run.plan import first_run_at

torch = pytest.importorskip("torch")


class Host(Machine):
    """Its tensors are the host's."""

    torch = torch

    def device(self, index=0):
        return "cpu"

    def synchronize(self):
        pass


def test_reports_name_no_folders_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    facts = {"runtime": {"path": f"{Path.home()}/lib"}}
    report.write(Path("r.json"), {"facts": facts, "steps": {"checks": report.step_of([])}, "x": f"{tmp_path}/a"}, [])
    text = Path("r.json").read_text()
    assert str(tmp_path) not in text
    assert '"~/lib"' in text
    assert list(tmp_path.iterdir()) == [tmp_path / "r.json"]


# -- processes ---------------------------------------------------------------------------------------------------------

WORKER = """
import json, os, signal, sys, time
path, kind, how, skipped = sys.argv[1:]
with open(path, "a", buffering=1) as out:
    for number in range(int(skipped), 3):
        out.write(json.dumps({"start": f"n{number}"}) + "\\n")
        if number == 1 and how == "dies":
            print("a fault", flush=True)
            os.kill(os.getpid(), signal.SIGABRT)
        if number == 1 and how == "hangs":
            time.sleep(100)
        out.write(json.dumps({"name": f"n{number}", "outcome": "ok", "why": ""}) + "\\n")
    if how == "ends":
        sys.exit(3)
"""


def outcomes(how, seconds=30.0):
    started = []
    program = (sys.executable, "-c", WORKER)
    records = list(processes.results(program, "checks", [how], seconds, started.append))
    return [(record["name"], record["outcome"]) for record in records], records, started


def test_work_in_another_process():
    assert outcomes("works")[0] == [("n0", "ok"), ("n1", "ok"), ("n2", "ok")]


def test_a_fault_ends_only_its_own_check():
    found, records, started = outcomes("dies")
    assert found == [("n0", "ok"), ("n1", "failed"), ("n2", "ok")]
    assert started == ["n0", "n1", "n2"]
    assert "ended by SIGABRT" in records[1]["why"]
    assert records[1]["output"] == "a fault"


def test_a_check_that_does_not_end():
    found, records, _ = outcomes("hangs", 0.5)
    assert found == [("n0", "ok"), ("n1", "failed"), ("n2", "ok")]
    assert "took longer than 0" in records[1]["why"]


def test_a_process_that_fails_after_its_work():
    found, records, _ = outcomes("ends")
    assert found[-1] == ("checks: start", "failed")
    assert records[-1]["why"] == "its process ended with code 3"


def test_a_process_that_cannot_be_ended(monkeypatch):
    monkeypatch.setattr(os, "killpg", lambda group, signal: None)
    monkeypatch.setattr(processes, "_END", 0.01)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    processes.stop(process)
    assert processes.ended(process, 5) == (
        "it took longer than 5 seconds, and the system cannot end it: a device may hang"
    )
    process.communicate(b"\n")
    assert process.returncode == 0


def test_commands_that_fail(tmp_path):
    record = commands.kit(tmp_path, "no such target", "cpu", True, 1, 60)
    assert record["outcome"] == "failed"
    assert "no such target" in record["output"]
    assert commands.command(["targets"], 0.01)[0] == "it took longer than 0 seconds and was ended"
    assert commands.command(["targets"], 60)[0] == ""


# -- benchmarks --------------------------------------------------------------------------------------------------------


def test_benchmarks_whose_results_are_wrong():
    x = torch.ones(4)
    ours = {"wrong": lambda: "wrong", "broken": lambda: "broken"}
    benchmark = Benchmark("b", "us", 0, ours, (x, torch.zeros(4)), lambda: 2 * x, 1e-3)

    class Compiles(Host):
        def compile(self, kernel, **options):
            if kernel == "broken":
                raise ValueError("it does not compile")
            return lambda source, target: target.copy_(source)

    record = measure(Compiles("cpu", "cpu"), benchmark)
    assert record["configurations"]["wrong"] == "wrong: the largest error is 0.5 of the largest value"
    assert record["configurations"]["broken"] == "ValueError: it does not compile"
    assert "tilecore" not in record

    record = {**record, "outcome": "failed", "why": "no configuration was right"}
    assert report.described(record) == [
        "b: failed (no configuration was right)",
        "  wrong: wrong: the largest error is 0.5 of the largest value",
        "  broken: ValueError: it does not compile",
    ]


class DoublesByCopy(Host):
    """Its kernels double a tensor, and its clock says that each takes 2 ms of the 4 ms that the host measures."""

    def compile(self, kernel, **options):
        return lambda source, target: target.copy_(2 * source)

    def milliseconds(self, function):
        return 4.0

    def device_milliseconds(self, function):
        return 2.0


def test_peers_that_are_faster_wrong_or_broken():
    x = torch.ones(4)

    def breaks():
        raise RuntimeError("no memory")

    peers = (
        Peer("fast", lambda: [2.0] * 4, torch.tensor, lambda function: 1.0),
        Peer("wrong", lambda: x),
        Peer("broken", breaks),
    )
    ours = {"small": lambda: None, "large": lambda: None}
    benchmark = Benchmark("b", "TB/s", 8e9, ours, (x, torch.zeros(4)), lambda: 2 * x, 1e-3, peers)
    record = measure(DoublesByCopy("cpu", "cpu"), benchmark)
    assert record["tilecore"] == {
        "configuration": "small", "milliseconds": 4.0, "speed": 2.0, "error": 0.0, "device_milliseconds": 2.0,
        "device_speed": 4.0,
    }  # fmt: skip
    assert record["peers"]["fast"] == {"milliseconds": 1.0, "speed": 8.0, "error": 0.0, "ratio": 0.25}
    assert report.described(record) == [
        "b: 2 TB/s (4 by the device's clock); fast 8: 0.25 times its speed; wrong 2: 1.00 times its speed; wrong: "
        "wrong: the largest error is 0.5 of the largest value; broken: RuntimeError: no memory"
    ]


def test_a_simulated_device_has_no_speed():
    x = torch.ones(4)
    ours, peers = {"small": lambda: None}, [Peer("torch", lambda: 2 * x)]
    benchmark = Benchmark("b", "TB/s", 8e9, ours, (x, torch.zeros(4)), lambda: 2 * x, 1e-3, peers)
    record = measure(DoublesByCopy("cpu", "sim"), benchmark)
    assert "ratio" not in record["peers"]["torch"]
    assert report.described(record) == ["b: the result is right; the simulated device tells no speed"]


def test_time_by_the_clock_of_the_host():
    calls, synchronisations = [], []

    def waits():
        synchronisations.append(len(calls))

    milliseconds = batch_milliseconds(lambda: (calls.append(0), time.sleep(0.03)), waits)
    assert 30 <= milliseconds < 60
    assert synchronisations == [3, 4, *range(6, 25, 2)]


def test_tensors_differ():
    host = Host("cpu", "cpu")
    assert not torch.equal(host.random(5), host.random(5))


# -- examples ----------------------------------------------------------------------------------------------------------


def example(name, body):
    return f'''"""{name}

python examples/{name}.py --target cpu --n 7
"""
import os, sys
{body}
'''


def test_examples_in_processes_of_their_own(tmp_path):
    says = "print(sys.argv[1:], os.environ['TILECORE_EXECUTION_BACKEND']); sys.exit('--n 7' not in ' '.join(sys.argv))"
    bodies = {
        "vector_add": says,
        "softmax": "class UnsupportedError(Exception): pass\nraise UnsupportedError('no float64 here')",
        "matmul": "sys.exit('wrong')",
    }
    for name, body in bodies.items():
        (tmp_path / f"{name}.py").write_text(example(name, body))
    started = []
    records = list(examples.results(tmp_path, "no-target", "cpu", False, 30, started.append))
    assert started == ["matmul", "softmax", "vector_add"]
    assert [(record["outcome"], record["why"]) for record in records] == [
        ("failed", "its process ended with code 1"),
        ("skipped", "no float64 here"),
        ("ok", ""),
    ]
    assert records[0]["output"] == "wrong"


def test_examples_of_the_checkout():
    folder = examples.folder()
    assert folder is not None
    assert all(examples.words_of(file)[0] != "--target" for file in folder.glob("*.py"))
    assert examples.words_of(folder / "softmax.py") == ["--rows", "4096", "--columns", "1000"]


# -- the whole command -------------------------------------------------------------------------------------------------


@pytest.fixture
def plan(monkeypatch):
    here = os.fspath(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
    return importlib.import_module("first_run_of_two_backends").FIRST_RUN


def test_a_run_with_two_execution_backends(plan, tmp_path, capfd, monkeypatch):
    def kit(folder, target, backend, *options):
        raise OSError(f"no room for {backend}")

    monkeypatch.setattr(commands, "kit", kit)
    out = tmp_path / "report.json"
    assert command_line.main(plan, ["--out", str(out)]) == 1
    written = json.loads(out.read_text())
    assert written["summary"][0] == "none with good and bad"
    assert list(written["steps"]) == ["checks, good", "checks, bad", "kit, good", "kit, bad"]
    good, bad = written["steps"]["checks, good"], written["steps"]["checks, bad"]
    assert [record["outcome"] for record in good["records"]] == ["ok", "ok", "skipped"]
    assert [record["outcome"] for record in bad["records"]] == ["ok", "failed", "skipped"]
    assert (good["outcome"], bad["outcome"]) == ("ok", "failed")
    assert "ended by SIGABRT" in bad["records"][1]["why"]
    assert written["steps"]["kit, bad"]["why"] == "OSError: no room for bad"
    text = capfd.readouterr().out
    assert "[2/4] checks, bad" in text
    assert "crashes on bad ..." in text
    assert f"the report to send in, attached to an issue of tilecore: {out}" in text


def test_a_device_that_cannot_be_used(plan, tmp_path, capfd):
    out = str(tmp_path / "report.json")
    assert command_line.main(plan, ["--target", "off", "--out", out]) == 2
    assert "no GPU can be used: it is switched off" in capfd.readouterr().out


def test_missing_packages(plan, tmp_path, capfd, monkeypatch):
    """The run stops before its first step, with what is missing, why, and what to do."""
    monkeypatch.setattr(requirements.importlib.util, "find_spec", lambda name: {"pytest": 1}.get(name))
    steps = ("kit", "checks", "fuzz", "benchmarks")
    assert requirements.missing(steps) == "torch (checks, benchmarks), hypothesis (kit)"
    assert requirements.missing(("fuzz",)) == ""
    out = tmp_path / "report.json"
    assert command_line.main(plan, ["--out", str(out)]) == 2
    assert capfd.readouterr().out.splitlines()[-1] == (
        "nothing was run: these packages are missing (and the steps that need them): torch (checks), hypothesis (kit); "
        "pip install 'tilecore[torch,test]'"
    )
    assert json.loads(out.read_text())["steps"] == {}


def test_a_rehearsal(plan, tmp_path, capfd):
    assert command_line.main(plan, ["--simulated", "--steps", "checks", "--out", str(tmp_path / "r.json")]) == 0
    text = capfd.readouterr().out
    assert "this was a rehearsal, whose report nobody needs" in text
    assert "to send in" not in text


CASE = """
from hypothesis import given, settings, strategies

settings.load_profile("default")  # that of CI keeps no examples

@given(strategies.integers())
def test_numbers(number):
    assert number < 1000
"""


def test_the_kit_counts_and_leaves_nothing(tmp_path, monkeypatch):
    """The environment that the kit gets, with a case that fails, which hypothesis keeps."""
    environments = []

    def command(words, seconds, told, environment):
        environments.append(environment)
        return "", ""

    monkeypatch.setattr(commands, "command", command)
    step = tmp_path / "step"
    commands.kit(step, "cpu", "native", True, 1, 300)
    (tmp_path / "test_case.py").write_text(CASE)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_case.py"]
    ended = subprocess.run(words, cwd=tmp_path, env=environments[0], capture_output=True)
    assert commands.progress(ended.stdout.partition(b"===")[0].rstrip()) == "1 of 1 cases"
    assert {path.name for path in tmp_path.iterdir()} <= {"step", "test_case.py", "__pycache__"}
    assert (step / "hypothesis" / "examples").is_dir()


def test_progress():
    output = b"collected\n..... [  72/1709]\n...s. [ 144/1709]\n..."
    assert commands.progress(output) == "144 of 1709 cases"
    assert commands.progress(b"seed 3\nseed 4 \n\n") == "seed 4"
    assert commands.progress(b"") == "no output yet"


def test_plans_that_are_wrong(plan):
    with pytest.raises(ArgumentError, match="a step that is unknown"):
        replace(plan, steps={"measure": ""})
    assert first_run_at(plan.place) is plan
    with pytest.raises(ArgumentError, match="is no first run"):
        first_run_at("first_run_of_two_backends:is_right")
