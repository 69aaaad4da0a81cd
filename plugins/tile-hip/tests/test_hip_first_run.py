"""The first run: its options, processes and report, and its checks with a stand-in for torch's devices."""

from __future__ import annotations

import json
from functools import partial
from types import SimpleNamespace

import pytest
from tile_hip.first_run import benchmarks
from tile_hip.first_run import checks as hip_checks
from tile_hip.first_run.machine import HipMachine
from tile_hip.first_run.plan import FIRST_RUN

from tilecore.errors import ArgumentError, LaunchError
from tilecore.testing.first_run import checks, command_line, kernels, processes
from tilecore.testing.first_run.benchmarks import measure

torch = pytest.importorskip("torch")
SIMULATED = HipMachine("hip -arch=gfx1100", "sim")


# -- options and report ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--steps", "checks,kits"], "--steps: 'kits' is none of checks, kit, benchmarks, fuzz"),
        (["--steps", ","], "--steps: 'nothing' is none of"),
        (["--jobs", "0"], "are above 0"),
        (["--out", "/nowhere/report.json"], "--out: there is no folder /nowhere"),
        (["--execution-backend", "cpu"], "--execution-backend: 'cpu' is none of hip, sim"),
    ],
)
def test_wrong_options(words, text, capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.parsed(FIRST_RUN, words)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


def test_help(capsys):
    with pytest.raises(SystemExit):
        command_line.parsed(FIRST_RUN, ["--help"])
    text = capsys.readouterr().out
    for part in ("a report to send in", "--quick", "exit codes", "examples:", "hipBLASLt"):
        assert part in text


def test_no_gpu(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("TILE_HIP_RUNTIME", str(tmp_path / "none.so"))
    assert command_line.main(FIRST_RUN, ["--out", str(tmp_path / "report.json")]) == 2
    assert "no GPU can be used: TILE_HIP_RUNTIME names" in capfd.readouterr().out
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["steps"] == {}
    assert written["facts"]["packages"]["numpy"]
    assert next(iter(written)) == "summary"


# -- checks and benchmarks ---------------------------------------------------------------------------------------------


def test_checks_on_the_simulated_device():
    for check in (checks.addition, checks.atomics, checks.attention, checks.assertions):
        assert checks.run(SIMULATED, check) == ("ok", ""), check.__name__
    assert checks.run(SIMULATED, hip_checks.streams)[0] == "skipped"


def test_checks_that_fail(monkeypatch):
    monkeypatch.setattr(HipMachine, "compile", lambda self, kernel: lambda *args: None)
    outcome, why = checks.run(SIMULATED, checks.addition)
    assert outcome == "failed"
    assert why.startswith("AssertionError: the largest error is")
    assert checks.run(SIMULATED, checks.atomics)[1] == "AssertionError: the sum is 0, and 16384 threads added 1"
    assert checks.run(SIMULATED, checks.assertions)[1] == "AssertionError: the launch did not fail"


def test_benchmarks_on_the_simulated_device():
    records = [measure(SIMULATED, make()) for _, make in benchmarks.benchmarks(SIMULATED, True)]
    assert [record["unit"] for record in records] == ["TFLOP/s", "TB/s"]
    for record in records:
        theirs = record["peers"]["torch"]
        assert theirs["milliseconds"] > 0
        assert "ratio" not in theirs  # a simulated device has no speed


# -- what needs a GPU, with a stand-in for torch.cuda ------------------------------------------------------------------


class Cuda:
    """torch.cuda of two devices on the host: work happens at once, or is kept for a graph while one is captured."""

    def __init__(self):
        self.captured = None

    def launch(self, work):
        work() if self.captured is None else self.captured.append(work)

    class Stream:
        def __init__(self, priority=0):
            self.waits = 0

        def wait_stream(self, other):
            self.waits += 1

        def synchronize(self):
            assert self.waits == 1

    current_stream = Stream
    CUDAGraph = type("CUDAGraph", (), {"replay": lambda self: [work() for work in self.works]})

    def stream(self, stream):
        from contextlib import nullcontext

        return nullcontext()

    def graph(self, graph):
        from contextlib import contextmanager

        @contextmanager
        def capture():
            self.captured = []
            yield
            graph.works, self.captured = self.captured, None

        return capture()

    def synchronize(self, index=0):
        assert self.captured is None

    def device_count(self):
        return 2

    def current_device(self):
        return 0


class StandIn(HipMachine):
    """A machine whose kernels are functions of torch on the host."""

    cuda = Cuda()

    @property
    def torch(self):
        return SimpleNamespace(**{**vars(torch), "cuda": self.cuda})

    def device(self, index=0):
        return "cpu"

    def compile(self, kernel, **options):
        def run(*args):
            self.cuda.launch(partial(getattr(self, kernel), *args))

        run.get_profiler = lambda: SimpleNamespace(do_bench=lambda input_tensors: 0.5)
        return run

    def add(self, a, b, c):
        if getattr(b, "is_host", False):
            raise ArgumentError("add(): B is on the wrong device")
        c.copy_(a + b)

    def many_blocks(self, x, n):
        if n >= 2**22:
            raise LaunchError("many_blocks failed: the grid is too large")
        x[0] = 1

    def talks(self, x):
        print("block: 5\nblock: -7")


@pytest.mark.parametrize(
    "check",
    [
        checks.grids,
        hip_checks.too_large_grids,
        checks.prints,
        hip_checks.streams,
        hip_checks.several_devices,
        checks.timing,
        checks.wrong_tensors,
    ],
)
def test_checks_of_a_gpu(monkeypatch, check):
    for name in ("add", "many_blocks", "talks"):
        monkeypatch.setattr(kernels, name, lambda *sizes, name=name: name)
    machine = StandIn("hip", "hip")
    if check is checks.wrong_tensors:

        class Tensor:
            is_host = True

            def cpu(self):
                return self

        monkeypatch.setattr(StandIn, "random", lambda self, *shape, **options: Tensor())
    assert checks.run(machine, check) == ("ok", "")


@pytest.mark.parametrize("check", [hip_checks.graphs, hip_checks.loading_inside_a_capture])
def test_checks_of_graphs(monkeypatch, check):
    monkeypatch.setattr(kernels, "add", lambda *sizes: "add")
    machine = StandIn("hip", "hip")

    class Tensor(torch.Tensor):
        """Its additions are captured, too."""

        def add_(self, value):
            StandIn.cuda.launch(lambda: torch.Tensor.add_(self, value))

    monkeypatch.setattr(StandIn, "zeros", lambda self, *shape, **options: torch.zeros(shape).as_subclass(Tensor))
    assert checks.run(machine, check) == ("ok", "")
    monkeypatch.setattr(Cuda, "launch", lambda self, work: work())  # a launch that is not captured
    assert checks.run(machine, check)[0] == "failed" or check is hip_checks.loading_inside_a_capture


def test_a_run_without_a_torch_for_rocm(fake, tmp_path, capfd, monkeypatch):
    """The stand-in runtime shows a GPU, and the torch of this machine has no tensors on it: each check says so."""
    from tile_hip.torch_build import is_built_for_rocm

    if is_built_for_rocm():
        pytest.skip("torch is built for ROCm")
    monkeypatch.setattr(processes, "_POLL", 0.05)
    assert command_line.main(FIRST_RUN, ["--steps", "checks", "--out", str(tmp_path / "report.json")]) == 1
    written = json.loads((tmp_path / "report.json").read_text())
    step = written["steps"]["checks"]
    assert step["why"] == f"{len(hip_checks.CHECKS)} of {len(hip_checks.CHECKS)} failed"
    assert len(step["records"]) == len(hip_checks.CHECKS)
    assert all("not for ROCm: install torch for ROCm" in record["why"] for record in step["records"])
    assert written["facts"]["runtime"]["devices"][0]["name"] == "Fake GPU 0 (gfx942)"
    assert "checks: failed" in capfd.readouterr().out
