"""Reading the metadata of installed packages, with distributions that exist only on a temporary path."""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile

import pytest

from tilecore.plugins import discovery
from tilecore.plugins.discovery import CHECKOUT_ENTRIES, discover, import_value


@pytest.fixture
def install(tmp_path, monkeypatch):
    """install(package, entry_points) puts a .dist-info on sys.path; nothing else is installed."""
    library = [folder for folder in sys.path if "python" in folder and "-packages" not in folder]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *library])
    monkeypatch.setattr(discovery, "_core_version", lambda: "0.9")

    def put(package, entry_points, folder="", version="1.0", metadata=True):
        place = tmp_path / folder
        info = place / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "entry_points.txt").write_bytes(entry_points.encode())
        if metadata:
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        if str(place) not in sys.path:
            sys.path.append(str(place))

    return put


def claims(catalogue):
    return {kind: [(e.package, e.version, e.value) for e in entries] for kind, entries in catalogue.entries.items()}


HOST = {"cpu": [("tilecore", "0.9", CHECKOUT_ENTRIES["cpu"])]}


def test_a_checkout_offers_its_host(install):
    assert claims(discover()) == HOST


def test_an_installed_core_offers_it_once(install):
    install("tilecore", "[tilecore.backends]\ncpu = tilecore.backends.cpu.plugin\n", version="0.2")
    assert claims(discover()) == {"cpu": [("tilecore", "0.2", "tilecore.backends.cpu.plugin")]}


def test_a_package_with_two_kinds_among_others(install):
    scripts, ours = "[console_scripts]\nacme = acme:main\n", "acme = acme.plugin\n# no: comment\nacme2=acme.b:x\n"
    install("tile-acme", f"{scripts}\n[tilecore.backends]\n{ours}")
    install("unrelated", "[pytest11]\nx = y\n")
    claimed = claims(discover())
    assert claimed == HOST | {
        "acme": [("tile-acme", "1.0", "acme.plugin")],
        "acme2": [("tile-acme", "1.0", "acme.b:x")],
    }


def test_two_packages_for_a_kind_are_both_kept(install):
    install("tile-one", "[tilecore.backends]\nacme = one\n")
    install("tile-two", "[tilecore.backends]\nacme = two\n")
    assert sorted(package for package, _, _ in claims(discover())["acme"]) == ["tile-one", "tile-two"]


def test_a_package_that_claims_the_host_clashes_with_the_checkout(install):
    install("tile-fast-cpu", "[tilecore.backends]\ncpu = fast\n")
    assert [package for package, _, _ in claims(discover())["cpu"]] == ["tilecore", "tile-fast-cpu"]


def test_a_shadowed_copy_of_a_package_does_not_count(install):
    install("tile-acme", "[tilecore.backends]\nacme = new\n", version="2.0")
    install("Tile.Acme", "[tilecore.backends]\nacme = old\n", version="1.0", folder="further_down")
    assert claims(discover())["acme"] == [("tile-acme", "2.0", "new")]


def test_missing_metadata_falls_back_to_the_folder_name(install):
    install("tile-acme", "[tilecore.backends]\nacme = a\n", metadata=False)
    assert claims(discover())["acme"] == [("tile_acme", "1.0", "a")]


def test_lines_that_are_no_entries_are_reported(install):
    install("tile-acme", "[tilecore.backends]\nnonsense\nacme = a\n[other]\nnonsense too\n")
    catalogue = discover()
    assert claims(catalogue)["acme"] == [("tile-acme", "1.0", "a")]
    assert catalogue.problems == (
        "tile-acme: its entry_points.txt has lines that are not entries (kind = module): ['nonsense']",
    )


def test_a_package_in_a_zip_archive_is_found(tmp_path, monkeypatch):
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("tile_acme-3.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tile-acme\nVersion: 3.0\n")
        file.writestr("tile_acme-3.0.dist-info/entry_points.txt", "[tilecore.backends]\nacme = a\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(archive)])
    assert claims(discover())["acme"] == [("tile-acme", "3.0", "a")]


def test_a_package_of_a_foreign_importer_is_found(install, tmp_path, monkeypatch):
    info = tmp_path / "elsewhere" / "tile_acme-4.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tile-acme\nVersion: 4.0\n")
    (info / "entry_points.txt").write_text("[tilecore.backends]\nacme = a\n")

    class Finder:
        def find_spec(self, *_):
            return None

        def find_distributions(self, context):
            return iter([importlib.metadata.PathDistribution(info)])

    class Broken(Finder):
        def find_distributions(self, context):
            raise RuntimeError("no")

    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path, Finder()])
    assert claims(discover())["acme"] == [("tile-acme", "4.0", "a")]


def test_entry_points_that_cannot_be_read_are_reported(install, tmp_path):
    install("tile-acme", "[tilecore.backends]\nacme = a\n")
    install("tile-bad", "")
    (tmp_path / "tile_bad-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[")
    catalogue = discover()
    assert claims(catalogue)["acme"] == [("tile-acme", "1.0", "a")]
    assert "tile-bad" in catalogue.problems[0]


def test_nothing_is_imported(install):
    install("tile-acme", "[tilecore.backends]\nacme = a_module_that_does_not_exist\n")
    assert "acme" in discover().entries


def test_import_value():
    assert import_value("os.path") is __import__("os").path
    assert import_value("os : path.join [extra]") is __import__("os").path.join
    with pytest.raises(ValueError, match="not an entry point's value"):
        import_value("not a module")
    with pytest.raises(AttributeError):
        import_value("os:nothing")
