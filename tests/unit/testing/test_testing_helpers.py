"""tilecore.testing: skips with reasons, comparisons, seeds, main and benchmarks."""

from __future__ import annotations

import random
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fresh_processes import HEAVY, imported_by

import tilecore.testing as testing
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import AttributeSpec, Presence
from tilecore.errors import ArgumentError
from tilecore.plugins import manager
from tilecore.testing import null_backend

pytest_plugins = ["pytester"]
REPOSITORY = Path(__file__).parents[3]


def skipped(decorate):
    """Why pytest skips a decorated function; None when it runs."""

    def run():
        return "ran"

    decorated = decorate(run)
    assert decorated is run
    assert run() == "ran"  # called without pytest it runs
    (mark,) = run.pytestmark
    assert mark.name == "skipif"
    assert mark.args == (bool(mark.kwargs["reason"]),)
    return mark.kwargs["reason"] or None


@pytest.fixture
def device():
    """The target "device", which can be made present, absent and of an architecture."""
    facts = types.SimpleNamespace(present=True, arch="sm_90a", simulators=[])

    class Plugin:
        tilecore_lowering = staticmethod(null_backend.tilecore_lowering)

        @hookimpl
        def tilecore_adapters(self):
            return [null_backend.NullAdapter(), *facts.simulators]

        @hookimpl
        def tilecore_codegen(self):
            return replace(null_backend.tilecore_codegen(), function="target.build.tilecore_device")

        @hookimpl
        def tilecore_target(self):
            return replace(
                null_backend.tilecore_target(),
                kind="device",
                detect=lambda: Presence(facts.present, "nothing on the bus"),
                resolve=lambda target: target.with_attributes(arch=facts.arch),
                attributes={"arch": AttributeSpec("architecture")},
                aliases={"device-alias": {}},
            )

    with manager.register(Plugin(), package="tile-device"):
        yield facts


def test_a_target_that_nobody_offers_skips():
    assert skipped(testing.requires_nonesuch) == "no installed backend offers the target 'nonesuch'"
    assert "nonesuch" in skipped(testing.requires_nonesuch(support_required="compile-only"))
    assert skipped(testing.requires_nonesuch(support_required="optional")) is None


def test_the_host_is_always_there():
    for name in ("requires_cpu", "requires_llvm"):
        assert skipped(getattr(testing, name)) is None
    assert skipped(testing.requires_cpu()) is None


def test_a_device_must_be_present_to_run(device):
    assert skipped(testing.requires_device) is None
    device.present = False
    manager.refresh()
    assert skipped(testing.requires_device) == "no device device is here: nothing on the bus"
    assert skipped(testing.requires_device(support_required="compile-only")) is None


def test_simulation_stands_in_for_a_device(device, monkeypatch):
    class Simulated(null_backend.NullAdapter):
        name = "sim"

    device.present = False
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    assert skipped(testing.requires_device) == "no device device is here: nothing on the bus"
    device.simulators.append(Simulated())
    manager.refresh()
    assert skipped(testing.requires_device) is None


def test_any_of_several_targets():
    assert skipped(testing.requires_nonesuch_or_cpu) is None
    assert "'nonesuch'; no installed backend" in skipped(testing.requires_nonesuch_or_neither)


@pytest.mark.parametrize(
    ("arch", "mode", "version", "runs"),
    [
        ("sm_90a", "ge", (9, 0), True),
        ("sm_90a", "ge", (10, 0), False),
        ("sm_90a", "gt", (9,), False),
        ("sm_100", "eq", (10,), True),
        ("sm_89", "lt", (9, 0), True),
        ("sm_89", "le", (8, 9), True),
        ("sm_89", "ne", (8, 9), False),
        ("v12.1", "ge", (12, 2), False),
        (75, "eq", (7, 5), True),
    ],
)
def test_compute_versions(device, arch, mode, version, runs):
    device.arch = arch
    by_name = getattr(testing, f"requires_device_compute_version_{mode}")(*version)
    by_argument = testing.requires_device_compute_version(*version, mode=mode)
    assert (skipped(by_name) is None) == (skipped(by_argument) is None) == runs
    if not runs:
        assert f"compute {mode} {version[0]}.{(*version, 0)[1]} is needed: " in skipped(by_name)


def test_compute_versions_that_cannot_be_known(device):
    device.arch = "unnumbered"
    assert "is not known" in skipped(testing.requires_device_compute_version(1))
    assert "nonesuch" in skipped(testing.requires_nonesuch_compute_version_ge(9, 0))
    with pytest.raises(ArgumentError, match="mode='about'"):
        testing.requires_device_compute_version(9, mode="about")


def test_packages():
    assert skipped(testing.requires_package("json", "os.path")) is None
    assert skipped(testing.requires_package("json", "no_such_package.part")) == "not installed: no_such_package.part"


def test_marks_and_classes():
    (mark,) = testing.requires_nonesuch.marks()
    assert mark.args == (True,)
    assert "nonesuch" in mark.kwargs["reason"]
    assert testing.requires_cpu.marks()[0].args == (False,)

    @testing.requires_nonesuch
    class Tests:
        pass

    assert Tests.pytestmark[0].args == (True,)


def test_unknown_names_and_arguments():
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        testing.nothing_like_it  # noqa: B018
    with pytest.raises(ArgumentError, match="support_required='sometimes'"):
        testing.requires_cpu(support_required="sometimes")


def test_in_a_file_of_tests(pytester, monkeypatch):
    """Fixtures and parameters still arrive, skips show their reasons, and main() runs the file."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    file = pytester.makepyfile(
        test_file="""
        import pytest
        import tilecore.testing

        @tilecore.testing.requires_cpu
        @pytest.mark.parametrize("n", [1, 2])
        def test_runs(tmp_path, n):
            assert tmp_path.exists() and n

        @tilecore.testing.requires_nonesuch
        def test_skips(tmp_path):
            assert False

        if __name__ == "__main__":
            tilecore.testing.main()
        """
    )
    result = pytester.run(sys.executable, file, "-rs", "-p", "no:cacheprovider")
    assert result.ret == 0
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*no installed backend offers the target 'nonesuch'*"])
    file.write_text(file.read_text().replace("and n", "and n < 2"))
    assert pytester.run(sys.executable, file, "-k", "runs", "-p", "no:cacheprovider").ret == 1


# -- comparing -------------------------------------------------------------------------------------------------------


def test_close_tensors():
    torch = pytest.importorskip("torch")
    a = torch.zeros(1000)
    b = a.clone()
    b[0] = 1
    assert testing.torch_assert_close(a, b) is True, "0.1 % may differ"
    b[1] = 1
    with pytest.raises(AssertionError, match="LHS against RHS: 2 of 1000 elements differ"):
        testing.torch_assert_close(a, b)
    assert testing.torch_assert_close(a, b, max_mismatched_ratio=0.002)
    with pytest.raises(AssertionError, match="mine against theirs"):
        testing.torch_assert_close(a, b, base_name="mine", ref_name="theirs")
    assert testing.torch_assert_close(a, a + 0.0009)
    nan = torch.full((4,), float("nan"))
    assert testing.torch_assert_close(nan, nan)
    with pytest.raises(AssertionError):
        testing.torch_assert_close(nan, nan, equal_nan=False)


def test_attributes_must_agree_unless_told_otherwise(capsys):
    torch = pytest.importorskip("torch")
    a = torch.zeros(4, 4)
    with pytest.raises(AssertionError, match=r"differ in dtype: torch.float32 and torch.float16"):
        testing.torch_assert_close(a, a.half())
    assert testing.torch_assert_close(a, a.half(), check_dtype=False)
    assert testing.torch_assert_close(a, a.T.contiguous().T)
    with pytest.raises(AssertionError, match=r"differ in strides: \(4, 1\) and \(1, 4\)"):
        testing.torch_assert_close(a, a.T.contiguous().T, check_stride=True)
    with pytest.raises(AssertionError, match=r"has shape \(4, 4\), expected \(16,\)"):
        testing.torch_assert_close(a, a.reshape(16))
    assert testing.torch_assert_close(np.zeros(3), np.zeros(3), verbose=True, check_stride=True)
    assert capsys.readouterr().out == "0 of 3 elements are not close\n"


def test_seeds():
    torch = pytest.importorskip("torch")

    def draw(*seed):
        testing.set_random_seed(*seed)
        return random.random(), float(np.random.rand()), float(torch.rand(1))

    assert draw() == draw(42)
    assert draw(1) != draw(2)


# -- benchmarks ------------------------------------------------------------------------------------------------------


def regression_first():
    testing.process_func(lambda M: 0.5 * M, "first", M=3)


def regression_second():
    testing.process_func(benchmark)


def benchmark():
    return 2.0


def other_prefix():
    raise AssertionError("not asked for")


def test_regression_runs_what_is_named_so(capsys):
    timings = testing.regression()
    names = ["first", f"{__name__}.benchmark"]
    assert [(timing.name, timing.latency) for timing in timings] == list(zip(names, [1.5, 2.0], strict=True))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:] for line in lines] == [["1.5000", "ms"], ["2.0000", "ms"]]
    assert len(testing.regression(verbose=False)) == 2
    assert testing.regression(("nothing_like_it",), verbose=False) == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("result", [None, -1.0, 0, True, "fast"])
def test_a_benchmark_returns_milliseconds(result):
    with pytest.raises(ArgumentError, match="the benchmark b returned"):
        testing.process_func(lambda: result, "b")


def test_importing_it_costs_little():
    assert imported_by("import tilecore.testing", (*HEAVY, "pytest")) == []
