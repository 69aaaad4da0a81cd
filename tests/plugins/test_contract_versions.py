"""A package written for this contract or the one before works; others are refused, and the words say what to change.

There is no release yet whose contract differs, so a tilecore of tomorrow is made here: a copy whose contract is one
further and has more fields, one more hook and one more method. Packages of today are put beside it.
"""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import contract_shape
import pytest

from tilecore.contract.records import CONTRACT_VERSION, SUPPORTED_CONTRACTS

FOLDER = Path(__file__).parent / "packages"
NEXT = CONTRACT_VERSION + 1
PACKAGE = """
from dataclasses import replace
from tile_healthy import Healthy
from tilecore.contract.hookspecs import hookimpl

class Of(Healthy):
    kind = "{kind}"

    @hookimpl
    def tilecore_target(self):
        return replace(super().tilecore_target(), contract={contract})
{more}
plugin = Of()
"""
TUNES = """
    @hookimpl
    def tilecore_tuning(self):
        from tilecore.contract.records import Tuning
        return Tuning(self.kind)

    @hookimpl
    def tilecore_codegen(self):
        return replace(super().tilecore_codegen(), dialects=("ptx",))
"""
# what the tilecore of tomorrow has: (file, text of today, text of tomorrow)
TOMORROW = [
    ("contract/records.py", f"CONTRACT_VERSION = {CONTRACT_VERSION}\n", f"CONTRACT_VERSION = {NEXT}\n"),
    ("contract/records.py", "    register: Callable[[], None]\n",
     "    register: Callable[[], None]\n    dialects: tuple[str, ...] = ()\n"),
    ("contract/records.py", "@frozen\nclass Codegen:",
     "@frozen\nclass Tuning:\n    name: str\n\n\n@frozen\nclass Codegen:"),
    ("plugins/checking.py", '"register": takes(0)}', '"register": takes(0), "dialects": SEQUENCE}'),
    ("plugins/loader.py", 'OPTIONAL = ("tilecore_toolchain",)', 'OPTIONAL = ("tilecore_toolchain", "tilecore_tuning")'),
    ("contract/adapter.py", "    def largest_run(self)",
     "    def prefetch(self, device_index: int = 0) -> int:\n        return 7\n\n    def largest_run(self)"),
]  # fmt: skip
HOOK = '\n\n@hookspec(firstresult=True)\ndef tilecore_tuning() -> "Tuning":\n    """What it can be tuned by."""\n'


def make_tomorrow(folder: Path) -> None:
    """A copy of tilecore with TOMORROW's changes."""
    shutil.copytree(
        Path(contract_shape.backend.__file__).parents[1], folder, ignore=shutil.ignore_patterns("__pycache__")
    )
    for file, today, tomorrow in TOMORROW:
        path = folder / file
        assert path.read_text().count(today) == 1, (file, today)
        path.write_text(path.read_text().replace(today, tomorrow))
    hooks = folder / "contract/hookspecs.py"
    hooks.write_text(hooks.read_text() + HOOK)


@pytest.fixture(scope="module")
def tomorrow(make_site):
    site = make_site("tomorrow")
    make_tomorrow(site.folder / "tilecore")
    shutil.copy(FOLDER / "tile_healthy.py", site.folder)
    for contract in range(NEXT - 2, NEXT + 2):
        kind = f"for_{contract}"
        more = TUNES if contract == NEXT else ""
        (site.folder / f"{kind}.py").write_text(PACKAGE.format(kind=kind, contract=contract, more=more))
        site.install(f"tile-for-{contract}", "2.5", kind, f"{kind}:plugin")
    return site


@pytest.fixture(scope="module")
def used(tomorrow):
    kinds = [f"for_{contract}" for contract in range(NEXT - 2, NEXT + 2)]
    ended = tomorrow.run(str(FOLDER / "use_all.py"), *kinds)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("contract", [NEXT, NEXT - 1])
def test_the_contract_of_tomorrow_and_the_one_before_work(used, contract):
    assert used[f"for_{contract}"] == {"step": "none"}


def test_what_the_older_package_lacks_has_its_default(tomorrow):
    code = (
        "from tilecore.plugins import manager\n"
        "from tilecore.contract.records import CONTRACT_VERSION\n"
        f"old, new = (manager.resolve(kind)[0] for kind in ('for_{NEXT - 1}', 'for_{NEXT}'))\n"
        "print(CONTRACT_VERSION, old.target.contract, old.codegen.dialects, old.adapters['plain'].prefetch())\n"
        "print(new.target.contract, new.codegen.dialects)\n"
    )
    ended = tomorrow.run("-c", code)
    assert ended.stdout.splitlines() == [f"{NEXT} {NEXT - 1} () 7", f"{NEXT} ('ptx',)"], ended.stderr


@pytest.mark.parametrize(
    ("contract", "hint"),
    [
        (NEXT - 2, f"upgrade the package (pip install --upgrade tile-for-{NEXT - 2}), or install an older tilecore"),
        (
            NEXT + 1,
            f"upgrade tilecore (pip install --upgrade tilecore), or install an older tile-for-{NEXT + 1}",
        ),
    ],
)
def test_others_are_refused(tomorrow, used, contract, hint):
    outcome = used[f"for_{contract}"]
    assert outcome["step"] == "resolve"
    assert outcome["type"] == "PluginError"
    assert f"package tile-for-{contract} 2.5" in outcome["says"]
    assert f"it uses version {contract} of the backend contract" in outcome["says"]
    assert outcome["hint"] == hint
    targets = {target["kind"]: target for target in tomorrow.cli("targets")["targets"]}
    assert targets[f"for_{contract}"]["state"] == "broken"
    assert targets[f"for_{contract}"]["fix"] == hint
    assert targets[f"for_{NEXT}"]["state"] == targets["cpu"]["state"] == "ok"


def test_packages_of_tomorrow_beside_the_tilecore_of_today(site):
    """They name what it does not have; the words say that it is tilecore that is too old."""
    site.add_module(FOLDER / "tile_healthy.py")
    more = {"hook": TUNES, "field": TUNES.partition("    @hookimpl\n    def tilecore_codegen")[2], "version": ""}
    more["field"] = "\n    @hookimpl\n    def tilecore_codegen" + more["field"]
    for name, text in more.items():
        (site.folder / f"new_{name}.py").write_text(PACKAGE.format(kind=f"new_{name}", contract=NEXT, more=text))
        site.install(f"tile-new-{name}", "3.0", f"new_{name}", f"new_{name}:plugin")
    (site.folder / "new_module.py").write_text("from tilecore.contract.records import Tuning")
    site.install("tile-new-module", "3.0", "new_module", "new_module:plugin")
    ended = site.run(str(FOLDER / "use_all.py"), "new_hook", "new_field", "new_version", "new_module")
    used = json.loads(ended.stdout)
    for name in (*more, "module"):
        outcome = used[f"new_{name}"]
        assert outcome["step"] == "resolve", name
        assert "pip install --upgrade tilecore)" in outcome["hint"], name
        assert f"tile-new-{name}" in outcome["hint"], name


# -- what a contract may not take away ---------------------------------------------------------------------------------


def test_the_contract_is_written_down():
    """Else nobody can tell what a package that was written for it relies on."""
    assert contract_shape.recorded(CONTRACT_VERSION) == contract_shape.shape(), (
        "the contract has changed: raise CONTRACT_VERSION if it is more than an addition (docs/versions.md), then run "
        "python tests/plugins/contract_shape.py"
    )


@pytest.mark.parametrize("version", SUPPORTED_CONTRACTS)
def test_packages_for_the_versions_before_go_on_working(version):
    old = contract_shape.recorded(version)
    if old is None:
        assert version == 0, "every contract but the one before the first is written down"
        pytest.skip("there was no contract before the first")
    assert contract_shape.breaks(old, contract_shape.shape()) == []


def removed(shape):
    del shape["records"]["Codegen"][1]
    return r"the fields of Codegen have other places: plugins may pass them by position"


def inserted(shape):
    shape["records"]["TargetSpec"].insert(2, ["speed", True])
    return r"the fields of TargetSpec have other places: plugins may pass them by position"


def demanded(shape):
    shape["records"]["Toolchain"].append(["speed", False])
    return r"Toolchain.speed has to be given now"


def demanded_at_last(shape):
    shape["records"]["Toolchain"][2][1] = False
    return r"Toolchain.version has to be given now"


def forgotten(shape):
    del shape["records"]["Found"]
    return r"the record Found is gone"


def unhooked(shape):
    del shape["hooks"]["tilecore_codegen"]
    return r"the hook tilecore_codegen is gone"


def needed(shape):
    shape["hooks"]["tilecore_tuning"] = True
    return r"the hook tilecore_tuning is new and needed"


def called_otherwise(shape):
    shape["adapter"]["timer"][0].append("precise")
    return r"KernelAdapter.timer is called with other arguments"


def abstract(shape):
    shape["adapter"]["prefetch"] = [["self"], False]
    return r"KernelAdapter.prefetch is new and abstract"


@pytest.mark.parametrize(
    "change",
    [removed, inserted, demanded, demanded_at_last, forgotten, unhooked, needed, called_otherwise, abstract],
    ids=lambda change: change.__name__,
)
def test_what_would_break_packages_is_seen(change):
    new = copy.deepcopy(contract_shape.shape())
    words = change(new)
    assert contract_shape.breaks(contract_shape.shape(), new) == [words]


def test_what_breaks_nobody():
    new = copy.deepcopy(contract_shape.shape())
    new["records"]["Codegen"].append(["dialects", True])
    new["records"]["Tuning"] = [["name", False]]
    new["hooks"]["tilecore_tuning"] = False
    new["adapter"]["prefetch"] = [["self"], True]
    assert contract_shape.breaks(contract_shape.shape(), new) == []
