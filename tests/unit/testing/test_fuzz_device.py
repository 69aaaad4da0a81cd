"""Fuzzed kernels of a target whose tensors live on a device of its own: copied there before a call, and back after."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tilecore
from tilecore.testing.fuzz.generate import generate
from tilecore.testing.fuzz.judges import Place
from tilecore.testing.fuzz.oracle import Reference, judge, reference_of
from tilecore.testing.fuzz.printing import source_of
from tilecore.testing.fuzz.repeat import text_of

pytestmark = pytest.mark.rotated

torch = pytest.importorskip("torch")
compile_on_host = tilecore.compile


class There:
    """A compiled kernel that takes tensors of torch, not arrays; its device is the host by another name."""

    def __init__(self, kernel, runs=True):
        self.kernel, self.backend, self.runs = kernel, kernel.backend, runs
        self.calls = []
        self.adapter = SimpleNamespace(device=2, torch_device=lambda index=0: "cpu", synchronize=lambda: None)

    def __call__(self, *args):
        assert not any(isinstance(arg, np.ndarray) for arg in args), "on the wrong device"
        self.calls.append(args)
        if self.runs:
            self.kernel(*args)


@pytest.fixture
def device(monkeypatch):
    """Kernels that were compiled for the device; its flag ``runs`` says whether they do anything."""
    fake_device = SimpleNamespace(kernels=[], runs=True)

    def compile_there(function, target, execution_backend=None):
        fake_device.kernels.append(There(compile_on_host(function, target=target), fake_device.runs))
        return fake_device.kernels[-1]

    monkeypatch.setattr(tilecore, "compile", compile_there)
    return fake_device


def seeds():
    """Short programs whose tensors are padded, by columns, of 4 bits, of bool, of narrow floats, and empty ones."""
    features = {
        "padded": lambda program: any(p.form == "padded" for p in program.params),
        "columns": lambda program: any(p.form == "columns" for p in program.params),
        "4 bits": lambda program: any(p.dtype in ("int4", "uint4") for p in program.params),
        "bool": lambda program: any(p.dtype == "bool" and p.shape for p in program.params),
        "8 bits": lambda program: any(p.dtype.startswith("float8") for p in program.params),
        "a number": lambda program: any(p.scope == "scalar" for p in program.params),
        "empty": lambda program: any(size == 0 for _, size in program.second_sizes),
    }
    seed_by_feature = {}
    for seed in range(1000):
        program = generate(seed)
        for name in features.keys() - seed_by_feature.keys():
            if features[name](program) and len(source_of(program)) < 2500:
                seed_by_feature[name] = seed
    assert seed_by_feature.keys() == features.keys()
    return sorted(set(seed_by_feature.values()))


def test_kernels_get_tensors_of_the_device_and_their_results_are_seen(device):
    for seed in seeds():
        program = generate(seed)
        reference = reference_of(program)
        if isinstance(reference, Reference):
            assert judge(program, reference, "cpu", None).kind == "ok", seed
            assert len(device.kernels[-1].calls) == 1 + (reference.second_call is not None)
    assert len(device.kernels) >= 5


def test_a_device_that_does_nothing_is_found_out(device):
    device.runs = False
    kinds = []
    for seed in seeds():
        program = generate(seed)
        reference = reference_of(program)
        if isinstance(reference, Reference):
            kinds.append(judge(program, reference, "cpu", None).kind)
    assert kinds.count("wrong") >= 5, kinds


@pytest.mark.parametrize("runs", [True, False])
def test_the_file_of_a_finding_runs_there_too(device, runs, tmp_path, monkeypatch, capsys):
    device.runs = runs
    program = next(
        p for p in map(generate, range(100)) if not p.second_sizes and isinstance(reference_of(p), Reference)
    )
    reference = reference_of(program)
    verdict = SimpleNamespace(kind="wrong", text="")
    path = tmp_path / "finding.py"
    path.write_text(text_of(path.name, program, verdict, Place("cpu"), reference.bounds))
    monkeypatch.setattr("sys.argv", [str(path)])
    monkeypatch.syspath_prepend(str(tmp_path))
    import runpy

    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == (0 if runs else 1), capsys.readouterr().out
    assert device.kernels[-1].calls
