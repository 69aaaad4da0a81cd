"""The simulator is compiled in groups of files, whatever their number."""

from __future__ import annotations

import pytest
from tile_tpu.simulate.build import SOURCES, groups_of

from tilecore.simulate.compilers import find_compiler


@pytest.mark.parametrize("most", [1, 2, 4, 7, 23, 100])
def test_every_file_is_in_one_group_of_about_the_same_size(most):
    sources = sorted(SOURCES.glob("*.cpp"))
    groups = groups_of(sources, most)
    assert len(groups) == min(most, len(sources))
    assert sorted(path for group in groups for path in group) == sources
    sizes = [sum(path.stat().st_size for path in group) for group in groups]
    assert max(sizes) - min(sizes) <= max(path.stat().st_size for path in sources)


def test_any_files_may_be_in_one_group(tmp_path):
    """No two files define the same name of their own, and no macro of one means something else in another."""
    text = tmp_path / "all.cpp"
    text.write_text("".join(f'#include "{path}"\n' for path in sorted(SOURCES.glob("*.cpp"))))
    compiler = find_compiler()
    compiler.run(["-std=c++17", "-Werror", "-fsyntax-only", str(text)], "all files of the simulator")
