"""Every way we could think of in which a backend package can be broken, all installed at once.

The tables broken_*.py have packages with one fault each, and say which step fails and with what words. The other
packages, the healthy one and tilecore itself must not notice.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from broken_adapters import PACKAGES as ADAPTERS
from broken_hooks import PACKAGES as HOOKS
from broken_modules import PACKAGES as MODULES
from broken_violent import PACKAGES as VIOLENT

FOLDER = Path(__file__).parent / "packages"
PACKAGES = {package.kind: package for package in (*HOOKS, *ADAPTERS, *MODULES)}


def state_without_kernel(package):
    """The state that ``tilecore targets`` and ``tilecore doctor`` report. They call all hooks but the lowering, the
    toolchain and the adapters; what fails only with a kernel, they cannot see."""
    seen = ("resolve", "capabilities", "detect", "find", "version", "available")
    return "broken" if package.step in seen else package.targets


@pytest.fixture(scope="module")
def broken(make_site):
    """All cases, each a package tile-<case>, next to a healthy one."""
    site = make_site("broken")
    site.add_module(FOLDER / "tile_healthy.py")
    site.install("tile-healthy", "1.0", "healthy", "tile_healthy:plugin")
    for package in PACKAGES.values():
        site.add_broken(package, "2.5")
    return site


@pytest.fixture(scope="module")
def targets(broken):
    facts = broken.cli("targets")
    assert facts["code"] == 0
    return {target["kind"]: target for target in facts["targets"]}


@pytest.fixture(scope="module")
def doctor(broken):
    facts = broken.cli("doctor")
    assert facts["code"] == 1
    return {target["kind"]: target for target in facts["targets"]}


@pytest.fixture(scope="module")
def used(broken):
    """What happened when each was used, in one process, the healthy one last."""
    ended = broken.run(str(FOLDER / "use_all.py"), *PACKAGES, "healthy")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout) | {"stderr": ended.stderr}


@pytest.mark.parametrize("kind", PACKAGES)
def test_use_fails_at_the_right_step_and_says_why(used, kind):
    outcome, expected = used[kind], PACKAGES[kind]
    assert outcome["step"] == expected.step, outcome
    if expected.step == "none" or kind == "refuses":
        return
    assert outcome["type"] == "PluginError"
    assert expected.says in outcome["says"]
    assert f"package {expected.package} 2.5" in outcome["says"]
    assert expected.package in outcome["hint"]
    assert outcome["again"] == outcome["says"], "a second use says the same"


@pytest.mark.parametrize("kind", [kind for kind in PACKAGES if "raise" in kind])
def test_the_cause_is_kept(used, kind):
    assert used[kind]["cause"] in ("RuntimeError", "ZeroDivisionError", "OSError")
    assert f"{kind}.py:" in used[kind]["text"], "the error points at the plugin's line"


def test_own_errors_pass_through_the_guard(used):
    assert used["refuses"]["type"] == "ToolchainError"
    assert used["refuses"]["says"] == PACKAGES["refuses"].says


@pytest.mark.parametrize("kind", PACKAGES)
def test_targets_lists_it(targets, kind):
    """Also where the target's record is right, and another hook, the toolchain or an adapter fails."""
    target, expected = targets[kind], PACKAGES[kind]
    assert target["state"] == state_without_kernel(expected), target
    if target["state"] == "broken":
        assert expected.says in target["reason"]
        assert expected.package in target["fix"]


@pytest.mark.parametrize("kind", PACKAGES)
def test_doctor_finds_what_it_can_without_a_kernel(doctor, kind):
    assert doctor[kind]["state"] == state_without_kernel(PACKAGES[kind]), doctor[kind]


def test_the_healthy_neighbour_works(used, targets, doctor):
    assert used["healthy"] == {"step": "none"}
    assert targets["healthy"]["state"] == "ok"
    assert targets["healthy"]["aliases"] == ["healthy-alias"]
    assert doctor["healthy"]["state"] == "ok"
    assert doctor["healthy"]["toolchain"][0]["fix"] == "install it"


def test_slow_import_names_the_package(targets):
    assert "package tile-slow-import takes 2." in targets["slow_import"]["reason"]


def test_side_effects_are_put_back_or_reported(used, targets):
    process = used["process"]
    assert process["hook"]
    assert process["handler"]
    assert process["stdout"]
    assert process["variable"] == "1", "left alone: others may rely on it"
    effects = " ".join(targets["side_effects"]["side_effects"])
    for words in ("printed 'a plugin", "excepthook (restored)", "SIDE_EFFECT", "directory", "filters", "signal 2"):
        assert words in effects
    assert "package tile-side-effects 2.5" in used["stderr"], "and the user is warned"


def test_nothing_heavy_was_imported(used):
    assert not used["process"]["tvm"]
    assert not used["process"]["torch"]


def test_import_and_other_targets_work_beside_them(broken):
    code = (
        "import tilecore; from tilecore.plugins import manager\n"
        "assert 'healthy' in manager.kinds() and 'import_error' in manager.kinds()\n"
        "backend, target = manager.resolve('healthy-alias')\n"
        "print(target, backend.package, backend.version)"
    )
    ended = broken.run("-c", code)
    assert ended.stdout.split() == ["healthy", "tile-healthy", "1.0"], ended.stderr


@pytest.mark.parametrize("command", ["targets", "doctor"])
def test_violent_plugins_are_survived(make_site, command):
    site = make_site("violent")
    site.add_module(FOLDER / "tile_healthy.py")
    site.install("tile-healthy", "1.0", "healthy", "tile_healthy:plugin")
    for package in VIOLENT:
        site.add_broken(package, "0.1")
    start = time.monotonic()
    facts = site.cli(command, "--timeout", "2.5")
    assert time.monotonic() - start < 20
    targets_by_kind = {target["kind"]: target for target in facts["targets"]}
    assert targets_by_kind["healthy"]["state"] == "ok"
    for package in VIOLENT:
        target = targets_by_kind[package.kind]
        assert target["state"] == package.targets, target
        assert package.says in target["reason"]
        assert package.package in target["fix"]


def test_two_packages_for_one_kind(site):
    site.add_module(FOLDER / "tile_healthy.py")
    site.install("tile-healthy", "1.0", "healthy", "tile_healthy:plugin")
    site.install("acme-healthy", "3.1", "healthy", "tile_healthy:plugin")
    site.install("tile-other", "1.0", "other", "other:plugin")
    (site.folder / "other.py").write_text(
        "from tile_healthy import Healthy\nplugin = Healthy()\nplugin.kind = 'other'\n"
    )
    facts = site.cli("targets")
    targets = {target["kind"]: target for target in facts["targets"]}
    assert facts["code"] == 0
    assert targets["other"]["state"] == "ok"
    assert targets["healthy"]["state"] == "clash"
    assert "tile-healthy 1.0" in targets["healthy"]["reason"]
    assert "acme-healthy 3.1" in targets["healthy"]["reason"]
    assert "pip uninstall tile-healthy" in targets["healthy"]["fix"]
    assert "pip uninstall acme-healthy" in targets["healthy"]["fix"]
    code = (
        "from tilecore.plugins import manager\nfrom tilecore.errors import PluginError\nmanager.get('other')\n"
        "try: manager.get('healthy')\nexcept PluginError as error: print(error.message)"
    )
    assert "offered by 2 packages" in site.run("-c", code).stdout


def test_unreadable_metadata_hides_nobody(site):
    site.add_module(FOLDER / "tile_healthy.py")
    site.install("tile-healthy", "1.0", "healthy", "tile_healthy:plugin")
    site.install_raw("tile-garbled", "0.3", b"[tilecore.backends]\nthis line is no entry\n= neither\nhalf =\n")
    site.install_raw("tile-binary", "0.4", b"[tilecore.backends]\n\xff\xfe\xfa = x\n")
    site.install("tile-nameless", "0.5", "nameless", "tile_healthy:plugin", metadata=False)
    site.install("tile-odd-value", "0.6", "odd", "not a module!")
    site.install("tile-odd-kind", "0.7", "../odd kind", "tile_healthy:plugin")
    assert site.run("-m", "tilecore", "doctor").returncode == 1
    facts = site.cli("targets")
    targets = {target["kind"]: target for target in facts["targets"]}
    assert targets["healthy"]["state"] == "ok"
    assert targets["nameless"]["packages"][0] == {
        "name": "tile_nameless",
        "version": "0.5",
        "module": "tile_healthy:plugin",
    }
    assert targets["odd"]["state"] == "broken"
    assert "tile-odd-value 0.6" in targets["odd"]["reason"]
    assert "its entry point and its tilecore_target name different kinds" in targets["../odd kind"]["reason"]
    assert any("tile-garbled" in problem and "this line is no entry" in problem for problem in facts["problems"])
    assert any("tile-binary" in problem or "tile_binary" in problem for problem in facts["problems"])


def test_keyboard_interrupt_passes_through(site):
    (site.folder / "interrupted.py").write_text("raise KeyboardInterrupt")
    site.install("tile-interrupted", "1", "interrupted", "interrupted")
    code = (
        "from tilecore.plugins import manager\n"
        "try: manager.get('interrupted')\nexcept KeyboardInterrupt: print('interrupted')"
    )
    assert site.run("-c", code).stdout == "interrupted\n"
