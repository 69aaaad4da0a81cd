"""docs/extend.md: both examples are carried out in a copy of the packages, and touch as few files as the page says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from test_tutorial import ROOT, Workplace, blocks_of, carry_out

import tilecore.language as T
from tilecore.dtypes import FACTS
from tilecore.simulate.compilers import find_compiler

PAGE = "extend.md"
TEXT = (ROOT / "docs" / PAGE).read_text()
PACKAGES = ("tilecore", "plugins/tile-cuda/tile_cuda", "plugins/tile-tpu/tile_tpu")
MOST_FILES = {"A tile operation": 4, "An element type": 5}


class CopiedCheckout(Workplace):
    """A workplace whose packages are copies, laid out as in a checkout; the page's blocks change them."""

    package = ""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for path in PACKAGES:
            installed = Path(pytest.importorskip(Path(path).name).__file__).parent
            shutil.copytree(installed, self.start / path, ignore=shutil.ignore_patterns("__pycache__"))
        folders = {str((self.start / path).parent) for path in PACKAGES}
        self.environment["PYTHONPATH"] = os.pathsep.join(sorted(folders))


def changed_files(text: str) -> set[str]:
    """The files of the packages that the blocks of a text change or add."""
    changes = [block for block in blocks_of(text) if block.role in ("title", "append", "patch")]
    return {block.path for block in changes if block.path.startswith(PACKAGES)}


@pytest.mark.parametrize("title", MOST_FILES)
def test_an_extension_touches_few_files(title):
    files = changed_files(TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0])
    assert 2 <= len(files) <= MOST_FILES[title]
    assert all(f"`{path}`" in TEXT for path in files), "the page names each file beside its block"


def test_no_file_is_touched_elsewhere_on_the_page():
    assert changed_files(TEXT.partition("\n## ")[0]) == set()
    assert TEXT.count("\n## ") == len(MOST_FILES)


def test_the_examples_are_not_in_tilecore():
    assert not hasattr(T, "reverse")
    assert "float8_e3m4" not in FACTS


def test_both_examples_work_in_a_copy(tmp_path):
    find_compiler()
    assert carry_out(PAGE, CopiedCheckout(tmp_path)) >= 12


def test_what_has_no_place_in_a_file_is_seen(tmp_path):
    row = next(block for block in blocks_of(TEXT) if block.path == "tilecore/dtypes.py")
    checkout = CopiedCheckout(tmp_path)
    checkout.write(row)
    with pytest.raises(AssertionError, match="stands there 0 times"):
        checkout.write(row)
