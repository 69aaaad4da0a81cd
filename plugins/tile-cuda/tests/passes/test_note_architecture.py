"""note_architecture: explain() says which units of an architecture are not used."""

from __future__ import annotations

import pytest

from tilecore.testing.kernel_text import text

from .kernels import scaled
from .one_pass import around_pass, notes

PASS = "note_architecture"


@pytest.mark.parametrize(
    ("arch", "unit"),
    [
        ("sm_75", None),
        ("sm_90a", None),
        ("sm_100", "tensor memory"),
        ("sm_103", "tensor memory"),
        ("sm_120", "block-scaled"),
    ],
)
def test_units_that_are_not_used_are_named(arch, unit):
    before, after, env = around_pass(scaled, PASS, f"cuda -arch={arch}")
    texts = [row["text"] for row in notes(env)]
    assert len(texts) == (unit is not None)
    assert all(arch in line and unit in line for line in texts)
    assert text(before) == text(after)
