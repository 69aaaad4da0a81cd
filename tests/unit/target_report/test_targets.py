"""Lists of targets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tilecore.errors import TargetError
from tilecore.plugins import manager
from tilecore.target_report.run import report_on_targets
from tilecore.target_report.targets import targets_of

from .conftest import SAMPLE


def test_all_installed_targets(small_targets):
    targets = targets_of(["all"])
    assert [target.text for target in targets] == list(manager.kinds())
    assert {"cpu", "tiny", "loopy"} <= {target.text for target in targets}


def test_attributes_between_semicolons(small_targets):
    targets = targets_of(["cpu -march=generic; tiny", "cpu;cpu"])
    assert [target.text for target in targets] == ["cpu -march=generic", "tiny", "cpu"]
    assert targets[0].target.get("march") == "generic"


@pytest.mark.parametrize("text", ["nothing", "cpu -wrong=1", "", ";"])
def test_wrong_targets(text):
    with pytest.raises(TargetError):
        targets_of([text])


def test_a_broken_package_is_a_target_like_others(report_on, sample):
    from tilecore.target_report.kernels import kernels_of

    with manager.register(SimpleNamespace(__name__="tile_half"), kind="half", package="tile-half"):
        report = report_on_targets(kernels_of(sample, "scaled", ()), targets_of(["cpu;half"]), str(SAMPLE))
    assert [verdict.state for verdict in report.verdicts] == ["ok", "broken"]
    assert "tile-half" in report.verdicts[1].refusals[0].message
    assert not report.compiles
