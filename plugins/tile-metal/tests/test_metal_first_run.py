"""The first run: options, a Mac's facts from recorded answers, checks, benchmarks, the lanes of matrices."""

from __future__ import annotations

import importlib
import json
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tile_metal.first_run import benchmarks, checks, devices, facts, lane_layout, mlx
from tile_metal.first_run.machine import MetalMachine
from tile_metal.first_run.plan import FIRST_RUN

from tilecore.testing.first_run import checks as core_checks
from tilecore.testing.first_run import command_line
from tilecore.testing.first_run.benchmarks import measure

torch = pytest.importorskip("torch")
from fake_mps import mps  # noqa: E402 - it needs torch

SIMULATED = MetalMachine("metal -family=apple7", "sim")


# -- options and report ------------------------------------------------------------------------------------------------


def test_help(capsys):
    with pytest.raises(SystemExit):
        command_line.parsed(FIRST_RUN, ["--help"])
    text = capsys.readouterr().out
    for part in ("a report to send in", "installs nothing", "--simulated", "exit codes", "examples:", "MLX"):
        assert part in text


def test_options():
    options = command_line.parsed(FIRST_RUN, [])
    assert (options.target, options.execution_backends) == ("metal", ("torch", "metal"))
    options = command_line.parsed(FIRST_RUN, ["--simulated", "--steps", "checks"])
    assert (options.target, options.execution_backends) == ("metal -family=apple7", ("sim",))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--execution-backend", "metal,sim"], "'sim' is a rehearsal, and goes with no other"),
        (
            ["--execution-backend", "metal", "--simulated"],
            "--simulated is --execution-backend sim, and metal is another",
        ),
        (["--examples", "/nowhere"], "--examples: there is no vector_add.py in /nowhere"),
        (["--steps", "lanes"], "--steps: 'lanes' is none of checks, kit, examples, benchmarks, fuzz"),
    ],
)
def test_wrong_options(words, text, capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.parsed(FIRST_RUN, words)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "darwin", reason="says what other systems are told")
def test_a_machine_that_is_no_mac(tmp_path, capfd):
    assert command_line.main(FIRST_RUN, ["--out", str(tmp_path / "report.json")]) == 2
    assert "no GPU can be used: this is Linux, and Metal is part of macOS; run this on a Mac" in capfd.readouterr().out
    assert json.loads((tmp_path / "report.json").read_text())["steps"] == {}


# -- facts of a Mac ----------------------------------------------------------------------------------------------------

SYSCTL = {
    "machdep.cpu.brand_string": "Apple M1 (Virtual)", "hw.model": "VirtualMac2,1", "hw.memsize": "7516192768",
    "hw.physicalcpu": "3", "kern.hv_vmm_present": "1", "sysctl.proc_translated": "0",
}  # fmt: skip
DEVICES = {"torch": {"is_available": True, "name": "Apple Paravirtual device"}, "mlx": {}, "tile-metal": {}}


def mac(monkeypatch, sysctl=SYSCTL, gpu=None, asked=None):
    """The commands of a Mac. sysctl: its answers. gpu: an entry of the registry. asked: what devices.py does."""

    def run(words, capture_output, timeout, check=False):
        if words[0] == "sysctl":
            if words[2] not in sysctl:
                raise subprocess.CalledProcessError(1, words)
            text = sysctl[words[2]].encode() + b"\n"
        elif words[0] == "ioreg":
            text = plistlib.dumps([gpu]) if gpu else b""
        elif asked is not None:
            return asked()
        else:
            text = b"a warning\n" + json.dumps(DEVICES).encode() + b"\n"
        return SimpleNamespace(stdout=text, stderr=b"", returncode=0)

    monkeypatch.setattr(facts.subprocess, "run", run)
    monkeypatch.setattr(facts.sys, "platform", "darwin")
    monkeypatch.setattr(facts.platform, "mac_ver", lambda: ("15.5", ("", "", ""), "arm64"))
    return facts.facts("metal", ("torch", "metal"))


def test_a_virtual_mac(monkeypatch):
    gpu = {"IOClass": "AppleParavirtGPU", "IORegistryEntryName": "AppleParavirtGPU", "serial": "secret"}
    record = mac(monkeypatch, gpu=gpu)
    assert facts.problem(record) == ""
    assert facts.is_paravirtual(record)
    lines = facts.heading(record)
    assert lines[1] == "Apple M1 (Virtual), 7 GiB, macOS 15.5"
    assert lines[2:4] == ["GPU: AppleParavirtGPU", facts.PARAVIRTUAL]
    assert "secret" not in json.dumps(record)
    assert record["cores"] == 3


def test_a_mac_of_its_own(monkeypatch):
    sysctl = {**SYSCTL, "machdep.cpu.brand_string": "Apple M4 Max", "kern.hv_vmm_present": "0"}
    del sysctl["hw.memsize"]
    gpu = {"IOClass": "AGXAcceleratorG16X", "model": b"Apple M4 Max\0", "gpu-core-count": 40}
    monkeypatch.setitem(DEVICES, "torch", {"is_available": True})
    record = mac(monkeypatch, sysctl=sysctl, gpu=gpu)
    assert not facts.is_paravirtual(record)
    assert facts.heading(record)[1:3] == ["Apple M4 Max, macOS 15.5", "GPU: Apple M4 Max, 40 cores"]


def test_macs_that_cannot_be_used(monkeypatch):
    both = {"torch": "this Mac has an Intel processor", "metal": "this Mac has an Intel processor"}
    monkeypatch.setitem(DEVICES, "tile-metal", {"missing": both})
    assert facts.problem(mac(monkeypatch)) == "this Mac has an Intel processor"
    monkeypatch.setitem(DEVICES, "tile-metal", {"missing": {"metal": "no session"}})
    assert facts.problem(mac(monkeypatch)) == ""  # the steps of the other run
    assert "pip install torch" in facts.problem({**mac(monkeypatch), "packages": {}})
    crashed = SimpleNamespace(returncode=-11, stderr=b"a fault", stdout=b"")
    assert "ended with code -11: a fault" in facts.problem(mac(monkeypatch, asked=lambda: crashed))

    def hangs():
        raise subprocess.TimeoutExpired("python", 1)

    assert "it may hang" in facts.problem(mac(monkeypatch, asked=hangs))


@pytest.mark.skipif(sys.platform == "darwin", reason="there is a GPU")
def test_what_torch_and_the_target_say_here(capsys):
    devices.main()
    record = json.loads(capsys.readouterr().out)
    assert "has no device 'mps' here" in record["problem"]
    assert "sim" in record["tile-metal"]["execution_backends"]


# -- the layout of matrices by lanes -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """lane_layout.metal as a program of the host."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    text = re.sub(r"^#include.*\n", "", lane_layout.SOURCE.read_text(), flags=re.MULTILINE)
    text = re.sub(r"^  threadgroup (?=\w+ \w+\[)", "  static ", text, flags=re.MULTILINE)
    text = text.replace("KERNEL", "lanes").replace("[[kernel, max_total_threads_per_threadgroup(64)]]", "")
    folder = tmp_path_factory.mktemp("lanes")
    (folder / "lanes.h").write_text(text)
    options = ["-std=c++20", "-O0", "-Wno-attributes", "-pthread", '-DPROGRAM="lanes.h"', "-I", "."]
    command = [compiler, *options, str(Path(__file__).with_name("first_run_lanes.cpp")), "-o", "lanes"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder / "lanes"


def elements_of(program: Path, *chip: str) -> list[float]:
    ended = subprocess.run([program, str(lane_layout.SIZE), *chip], capture_output=True, text=True, check=True)
    return [float(word) for word in ended.stdout.split()]


def test_the_program_of_the_lane_check(program):
    elements = elements_of(program)
    lane_layout.compare(elements)
    with pytest.raises(AssertionError, match="24 of 24 simdgroup matrices are in other lanes"):
        lane_layout.compare(elements_of(program, "another"))
    for place in (0, 64, 1535):  # each element counts
        with pytest.raises(AssertionError, match="1 of 24 simdgroup matrices are in other lanes than expected"):
            lane_layout.compare([*elements[:place], 99, *elements[place + 1 :]])
    with pytest.raises(AssertionError, match="a simdgroup has 64 lanes"):
        lane_layout.compare([*elements[:-2], 64, 310])


def test_the_check_launches_its_program(monkeypatch, program):
    """On a device: the text goes to the execution backend in place of the emitted one."""
    loaded = []

    def kernel_of(artifact):
        loaded.append(artifact)
        return lambda numbers, elements: elements.copy_(torch.tensor(elements_of(program)))

    monkeypatch.setattr(importlib.import_module("tilecore.jit.export"), "kernel_of", kernel_of)
    monkeypatch.setattr(MetalMachine, "is_simulated", False)
    monkeypatch.setattr(MetalMachine, "torch", torch)
    monkeypatch.setattr(MetalMachine, "device", lambda self, index=0: "cpu")
    monkeypatch.setattr(MetalMachine, "synchronize", lambda self: None)
    assert core_checks.run(SIMULATED, lane_layout.lane_layout) == ("ok", "")
    (artifact,) = loaded
    assert artifact.source == artifact.binary.decode()
    assert f"void {artifact.entries[0].symbol}(const device float* numbers [[buffer(0)]]" in artifact.source
    assert artifact.entries[0].threads == (64, 1, 1)


# -- checks with a stand-in for torch's device -------------------------------------------------------------------------


class WithStandIn(MetalMachine):
    """torch's device "mps" is the stand-in's, whose kernels run on the simulated device."""

    torch = torch

    def random(self, *shape, dtype="float32", index=0):
        return mps(torch.rand(shape) * 2 - 1).to(getattr(torch, dtype))

    def zeros(self, *shape, dtype="float32", index=0):
        return mps(torch.zeros(shape, dtype=getattr(torch, dtype)))

    def synchronize(self):
        self.adapter.synchronize()


def test_checks_on_the_stand_in(torch_mps):
    machine = WithStandIn("metal", "torch")
    for check in (checks.tensors_of_the_host, checks.views, core_checks.prints, core_checks.assertions):
        assert core_checks.run(machine, check) == ("ok", ""), check.__name__


# -- checks and benchmarks ---------------------------------------------------------------------------------------------


def test_checks_on_the_simulated_device():
    for check in (checks.one_simdgroup, checks.infinities, checks.views, checks.order, core_checks.products_of_float16):
        assert core_checks.run(SIMULATED, check) == ("ok", ""), check.__name__
    assert core_checks.run(SIMULATED, checks.lane_layout)[0] == "skipped"


def test_checks_that_fail(monkeypatch):
    monkeypatch.setattr(MetalMachine, "compile", lambda self, kernel: lambda *args: args[-1].fill_(0.5))
    for check in (checks.one_simdgroup, checks.infinities, checks.views, checks.order):
        assert core_checks.run(SIMULATED, check)[0] == "failed", check.__name__


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="there is a GPU")
def test_checks_without_a_gpu():
    outcome, why = core_checks.run(MetalMachine("metal", "torch"), core_checks.addition)
    assert outcome == "failed"
    assert "has no device 'mps' here: it needs macOS on Apple silicon" in why


def test_benchmarks_on_the_simulated_device():
    for _, make in benchmarks.benchmarks(SIMULATED, True):
        record = measure(SIMULATED, make())
        assert record["tilecore"]["error"] < 1e-2, record
        assert record["peers"]["torch"]["error"] < 1e-2


def test_benchmarks_of_a_gpu_have_kernels(monkeypatch):
    monkeypatch.setattr(MetalMachine, "is_simulated", False)
    monkeypatch.setattr(MetalMachine, "torch", torch)

    def empty(self, *shape, dtype="float32"):
        return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")

    monkeypatch.setattr(MetalMachine, "random", empty)
    monkeypatch.setattr(MetalMachine, "zeros", empty)
    monkeypatch.setattr(mlx, "peer", lambda tensors, work: [])
    machine = MetalMachine("metal", "metal")
    every, quick = (benchmarks.benchmarks(machine, is_quick) for is_quick in (False, True))
    assert len({name for name, _ in every}) == len(every) > len(quick)
    for _, make in every:
        benchmark = make()
        assert benchmark.peers[0].name == "torch"
        assert next(iter(benchmark.ours.values()))().attrs["global_symbol"]


class Clock:
    """A timer of 7 ms."""

    def __init__(self):
        self.log = []

    def timer(self, device, backend):
        assert (device, backend) == (0, "event")
        return self

    def start(self):
        self.log.append("start")

    def stop(self):
        self.log.append("stop")

    def synchronize(self):
        self.log.append("synchronize")

    def elapsed(self):
        assert self.log[-4:] == ["start", "work", "stop", "synchronize"]
        return 7.0


def test_the_clock_of_the_gpu(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(MetalMachine, "adapter", clock)
    assert MetalMachine("metal", "metal").device_milliseconds(lambda: clock.log.append("work")) == 7.0
    assert MetalMachine("metal", "torch").device_milliseconds(lambda: None) is None


def test_mlx_as_a_peer():
    pytest.importorskip("mlx.core")
    q = torch.rand(1, 2, 8, 16).to(torch.float16)
    (peer,) = mlx.peer((q, q, q), lambda mx, *x: mx.fast.scaled_dot_product_attention(*x, scale=0.25))
    expected = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert torch.allclose(peer.result(peer.run()), expected.float(), atol=1e-2)
    (peer,) = mlx.peer((q.bfloat16()[0, 0],), lambda mx, x: x @ x.T)
    assert peer.result(peer.run()).shape == (8, 8)
    assert peer.milliseconds(peer.run) > 0
