"""The names of overloads of torch's operations, which are made of Python values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fresh_processes import FOLDER, output_of

import tilecore.language as T
from tilecore.jit.overload_names import overload_name

torch = pytest.importorskip("torch")

NAMES = {
    "numbers": ({"M": 64, "eps": 1e-05, "x": -0.25, "y": 1e20, "flag": True}, "M64_eps1em05_xm0p25_y1e20_flagTrue"),
    "texts and types": ({"layout": "NT", "dtype": T.float16, "other": torch.int8}, "layoutNT_dtypefloat16_otherint8"),
    "None": ({"block": None}, "blockNone"),
    "as in docs/torch.md": ({"M": 64, "N": 64, "scale": 0.5, "dtype": "float16"}, "M64_N64_scale0p5_dtypefloat16"),
}


def double(x):
    return 2 * x


@pytest.mark.parametrize("kind", NAMES)
def test_the_names_of_overloads(kind):
    values, name = NAMES[kind]
    assert overload_name(values) == name


def test_values_that_spell_no_name():
    """They give a digest of what they are."""

    def function(x):
        return x + 1

    values = [(1, 2), "a b", function, [0.5], {"a": 1}, "x" * 60]
    names = {overload_name({"value": value}) for value in values}
    assert len(names) == len(values)
    assert all(re.fullmatch("v[0-9a-f]{16}", name) for name in names)


def test_a_digest_is_the_same_in_every_process():
    program = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[2]]\n"
        "from test_overload_names import double\n"
        "from tilecore.jit.overload_names import overload_name\n"
        "print(overload_name({'sizes': (1, 2.5), 'names': frozenset({'c', 'b', 'a'}), 'function': double}))"
    )
    values = {"sizes": (1, 2.5), "names": frozenset({"a", "b", "c"}), "function": double}
    for seed in ("1", "5"):
        printed = output_of(program, Path(__file__).parent, FOLDER, PYTHONHASHSEED=seed)
        assert printed.strip() == overload_name(values)
