"""Fields that no longer do anything are still accepted, with a warning."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Lowering
from tilecore.plugins import manager
from tilecore.testing import null_backend


def lowering_of(record: Lowering) -> Lowering:
    @hookimpl
    def tilecore_lowering() -> Lowering:
        return record

    plugin = SimpleNamespace(**{**vars(null_backend), "tilecore_lowering": tilecore_lowering})
    with manager.register(plugin, package="tile-old"):
        return manager.get("null").lowering


@pytest.mark.parametrize(
    "record",
    [Lowering("none", lambda target: {"kind": "c"}), Lowering(family="none", stand_in=lambda target: {"kind": "c"})],
    ids=["by position", "by name"],
)
def test_a_stand_in_is_accepted_with_a_warning(record):
    with pytest.warns(DeprecationWarning, match=r"tile-old .*Lowering\.stand_in has no effect"):
        assert lowering_of(record).family == "none"


def test_without_a_stand_in_there_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lowering_of(Lowering("none")).family == "none"
