"""Plugins that the program does not use are asked in processes of their own: none of them can end or hang it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from broken_violent import PACKAGES as VIOLENT

FOLDER = Path(__file__).parent / "packages"

PRESENT = """
import os
from tile_healthy import Healthy
from tilecore.contract.records import Presence

class Here(Healthy):
    kind = "zz_here"

    def detect(self):
        return Presence(os.path.exists(__file__ + ".device"), "a file")

plugin = Here()
"""


@pytest.fixture(scope="module")
def violent(make_site):
    """Plugins that hang, exit and crash, a healthy one, and one whose device is there."""
    site = make_site("asking")
    site.add_module(FOLDER / "tile_healthy.py")
    site.install("tile-healthy", "1.0", "healthy", "tile_healthy:plugin")
    for package in VIOLENT:
        site.add_broken(package, "0.1")
    (site.folder / "zz_here.py").write_text(PRESENT)
    (site.folder / "zz_here.py.device").touch()
    site.install("tile-zz-here", "1.0", "zz_here", "zz_here:plugin")
    return site


def run(site, code: str, cache: Path, **environment: str):
    """What ``code`` prints in a new process, and how long it took; fails when the process does not end well."""
    start = time.monotonic()
    text = (
        "import sys\nfrom tilecore.plugins import asking, manager\nasking.ASK_SECONDS = 4.0\n"
        f"{code}\nprint('violent', sorted(set(sys.modules) & set({sorted(p.kind for p in VIOLENT)})))"
    )
    ended = site.run("-c", text, timeout=120, TILECORE_CACHE_DIR=str(cache), **environment)
    assert ended.returncode == 0, (ended.returncode, ended.stderr)
    *lines, last = ended.stdout.splitlines()
    assert last == "violent []", "none of them was imported here"
    return lines, ended.stderr, time.monotonic() - start


USES = {
    "auto": ("print(manager.resolve('auto')[1])", "zz_here"),
    "alias": ("print(manager.resolve('healthy-alias')[1])", "healthy"),
    "unknown": ("try: manager.resolve('elsewhere')\nexcept Exception as error: print(error.message)", "no installed"),
    "language": ("import tilecore.language as T\ntry: T.nonesuch\nexcept AttributeError: print('no name')", "no name"),
}


@pytest.mark.parametrize("use", USES)
def test_violent_plugins_are_survived(violent, use, tmp_path):
    code, expected = USES[use]
    lines, errors, seconds = run(violent, code, tmp_path)
    assert lines[-1].startswith(expected), lines
    assert seconds < 60
    if use == "auto":
        for package in VIOLENT:
            assert f'target "auto" skips target {package.kind!r}: package {package.package} ' in errors
            assert package.says in errors


def test_the_hanging_are_waited_for_once(violent, tmp_path):
    """What was found is kept for a while, the warning is not."""
    code = USES["auto"][0]
    assert run(violent, code, tmp_path)[2] > 4.0
    lines, errors, seconds = run(violent, code, tmp_path)
    assert lines[-1] == "zz_here"
    assert "skips target 'hangs'" in errors
    assert seconds < 4.0
    os.utime(violent.folder / "hangs.py")  # it was changed: asked again
    assert run(violent, code, tmp_path)[2] > 4.0


def test_a_target_by_name_asks_nobody(violent, tmp_path):
    code = "assert manager.resolve('cpu')[0].kind == 'cpu'\nassert 'tilecore.plugins.probe' not in sys.modules"
    assert run(violent, code, tmp_path)[2] < 4.0
    assert not list(tmp_path.rglob("plugins/*/*"))


def test_aliases_are_kept_with_the_cache(violent, tmp_path):
    """And what is kept is checked: `tilecore cache` knows it."""
    run(violent, USES["alias"][0], tmp_path)
    notes = list(tmp_path.rglob("v1/plugins/*/*"))
    assert len(notes) >= len(VIOLENT) + 2  # and those of this machine
    for note in notes:
        note.write_bytes(note.read_bytes()[:-9])
    lines, _, _ = run(violent, USES["alias"][0], tmp_path)
    assert lines == ["healthy"]
    checked = violent.run("-m", "tilecore", "cache", "verify", TILECORE_CACHE_DIR=str(tmp_path))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_device_that_is_gone_meanwhile_is_not_used(violent, tmp_path):
    run(violent, USES["auto"][0], tmp_path)
    device = violent.folder / "zz_here.py.device"
    device.unlink()
    try:
        lines, _, _ = run(violent, USES["auto"][0], tmp_path)
        assert lines[-1].startswith("cpu")
    finally:
        device.touch()


def test_without_an_interpreter_it_still_works(site, tmp_path):
    site.add_module(FOLDER / "tile_healthy.py")
    site.install("tile-healthy", "1.0", "healthy", "tile_healthy:plugin")
    code = "sys.executable = ''\nprint(manager.resolve('healthy-alias')[1])\nprint(manager.resolve('auto')[0].kind)"
    assert run(site, code, tmp_path)[0] == ["healthy", "cpu"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("sophgo-like", "pip install tile-special"),  # named by tilecore's own metadata
        ("elsewhere", "if there is one (usually named tile-elsewhere)"),
        ("Else where?", "pip install the one for your device"),
    ],
)
def test_an_unknown_target_names_the_package(site, tmp_path, target, words):
    info = site.folder / "tilecore-99.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tilecore\nVersion: 99\n"
        'Requires-Dist: torch; extra == "torch"\nRequires-Dist: tile-special; extra == "sophgo-like"\n\nText\n'
    )
    code = f"try: manager.resolve({{'kind': {target!r}}})\nexcept Exception as error: print(error.hint)"
    assert words in run(site, code, tmp_path)[0][-1]
