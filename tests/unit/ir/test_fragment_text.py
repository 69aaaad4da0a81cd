"""Formulas of fragments' layouts are what the layouts compute."""

from __future__ import annotations

import itertools

import pytest

from tilecore.ir.fragment_text import AXES, facts
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout, spread, tiled

MMA = FragmentLayout(
    (16, 8), 32,
    (
        Digit(0, 1, 8, THREAD, 4), Digit(0, 8, 2, REGISTER, 2), Digit(1, 1, 2, REGISTER, 1), Digit(1, 2, 4, THREAD, 1),
    ),
)  # fmt: skip
LAYOUTS = {
    "mma": MMA,
    "tiled": tiled(MMA, [(0, 2, REGISTER), (1, 4, REGISTER), (0, 2, THREAD)], (64, 32)),
    "spread": spread((24, 32), 64, vector=4),
    "columns": spread((16, 6), 32, fastest=0),
    "odd": spread((7, 13), 32),
    "copies": FragmentLayout((4,), 32, (Digit(0, 1, 4, THREAD, 2),)),
    "one thread": spread((3, 5, 2), 1),
    "rows": tiled(MMA, [(1, 2, REGISTER)], (16, 16)).project([0]),
    "one element": FragmentLayout((), 32, ()),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_formulas(name):
    layout = LAYOUTS[name]
    formulas = facts(layout)
    for indices in itertools.product(*map(range, layout.shape)):
        names = dict(zip(AXES, indices, strict=False))
        thread, register = (
            eval(str(formulas[part]).replace("/", "//"), dict(names)) for part in ("thread", "register")
        )
        assert (thread, register) == (layout.thread(indices), layout.register(indices))


def test_sizes():
    assert facts(LAYOUTS["copies"])["copies"] == 8
    assert facts(MMA) == {
        "shape": [16, 8], "threads": 32, "registers": 4, "copies": 1,
        "thread": "i % 8 * 4 + j / 2", "register": "i / 8 * 2 + j % 2",
    }  # fmt: skip
