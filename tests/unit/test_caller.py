"""The user's line: not in tilecore's files, but for the kernels that it ships, and in files beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilecore
from tilecore.caller import is_own, levels_to_user, place_of_caller

PACKAGE = Path(tilecore.__file__).parent


@pytest.mark.parametrize(
    ("file", "is_tilecore"),
    [
        (PACKAGE / "jit/compile.py", True),
        (PACKAGE / "caller.py", True),
        (PACKAGE / "demo/kernels.py", False),
        (PACKAGE / "testing/conformance/cases/test_math.py", False),
        (PACKAGE.parent / "user_library/kernels.py", False),  # installed beside tilecore
        (PACKAGE.with_name("tilecore_kernels") / "gemm.py", False),
        ("<frozen importlib._bootstrap>", True),
    ],
)
def test_whose_file(file, is_tilecore):
    assert is_own(str(file)) == is_tilecore


def test_a_test_is_a_user():
    assert levels_to_user() == 1
    assert place_of_caller().file == __file__
