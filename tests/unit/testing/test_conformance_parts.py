"""Which cases of the kit a run takes where it takes a part of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tilecore.testing.conformance.parts import Part
from tilecore.testing.conformance.places import Place, places

CASES = [f"test_gemm.py::test_shapes[-{number}]" for number in range(200)]


def test_what_is_not_a_part_is_refused():
    for words in ("1", "a/b", "1/0", "-1/3", "1/3/5"):
        with pytest.raises(pytest.UsageError, match="expected K/N"):
            Part.parse(words)
    assert Part.parse("7/3") == Part(1, 3)


def test_the_built_in_backend_has_every_case():
    assert all(Part(0, 3).has("gemm", case, Place("cpu"), ["cpu"]) for case in CASES)


def test_parts_join_to_the_whole_and_share_nothing():
    """On each place N runs have each case once; on N places one run has each case once."""
    where = [place for place in places() if str(place) != "cpu"]
    if not where:
        pytest.skip("no backend besides the built-in one is installed")
    names = sorted(place.words for place in where)
    for case in CASES:
        for place in where:
            assert sum(Part(number, 3).has("gemm", case, place, names) for number in range(3)) == 1
        if len(where) == 3:
            assert sum(Part(0, 3).has("gemm", case, place, names) for place in where) == 1
    assert all(Part(0, 3).has("registration", case, where[0], names) for case in CASES)
    sizes = [sum(Part(number, 3).has("gemm", case, where[0], names) for case in CASES) for number in range(3)]
    assert min(sizes) > 40


def test_the_option_leaves_cases_out():
    """As pytest collects them, on a backend that is not built in."""
    where = next((place for place in places() if str(place) != "cpu"), None)
    if where is None:
        pytest.skip("no backend besides the built-in one is installed")

    def collected(part: str) -> set[str]:
        words = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
        words += ["--pyargs", "tilecore.testing.conformance.cases.test_block_order", "--conform-target", where.words]
        environment = {**os.environ, "PYTEST_ADDOPTS": "", "TILECORE_TEST_FURTHER": ""}
        ended = subprocess.run(
            [*words, "--conform-part", part], capture_output=True, text=True, env=environment, check=False
        )
        return {line for line in ended.stdout.splitlines() if "::" in line}

    whole, parts = collected("0/1"), [collected("0/2"), collected("1/2")]
    assert whole
    assert parts[0] | parts[1] == whole
    assert not parts[0] & parts[1]
    assert parts[0] < whole
