"""The manager, with plugins registered by hand; those from entry points are tests/plugins."""

from __future__ import annotations

import threading
import time
import warnings
from dataclasses import replace

import pytest

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import AttributeSpec, Presence, TargetSpec
from tilecore.errors import PluginError, TargetError
from tilecore.plugins import discovery
from tilecore.plugins.discovery import Catalogue, entry_for
from tilecore.plugins.isolation import PluginWarning
from tilecore.plugins.manager import Manager
from tilecore.target import Target
from tilecore.testing import null_backend


class Plugin:
    """The null backend under any name, with the parts of its target replaced."""

    def __init__(self, kind: str, **changes) -> None:
        self.kind = kind
        self.changes = changes
        self.asked: list[str] = []

    @hookimpl
    def tilecore_target(self):
        self.asked.append("target")
        return replace(null_backend.tilecore_target(), kind=self.kind, **self.changes)

    @hookimpl
    def tilecore_lowering(self):
        self.asked.append("lowering")
        return null_backend.tilecore_lowering()

    @hookimpl
    def tilecore_codegen(self):
        self.asked.append("codegen")
        return replace(null_backend.tilecore_codegen(), function=f"target.build.tilecore_{self.kind}")

    @hookimpl
    def tilecore_adapters(self):
        self.asked.append("adapters")
        return null_backend.tilecore_adapters()


@pytest.fixture
def manager(monkeypatch):
    """A manager of its own on an installation that offers just a host, so nothing installed here matters."""
    host = Plugin("cpu", detect=lambda: Presence(True, "the host"))
    entry = replace(entry_for("cpu", "tilecore", "0", "host"), load=lambda: host)
    monkeypatch.setattr(discovery, "discover", lambda: Catalogue({"cpu": (entry,)}))
    monkeypatch.delenv("TILECORE_TARGET", raising=False)
    return Manager()


def test_registration_lasts_for_the_block(manager):
    with manager.register(null_backend, package="tilecore-null"):
        backend, target = manager.resolve("null")
        assert (backend.kind, backend.package) == ("null", "tilecore-null")
        assert target == Target("null", {"variant": 0})
        assert manager.kinds() == ("cpu", "null")
    assert manager.kinds() == ("cpu",)
    with pytest.raises(TargetError, match="no installed backend"):
        manager.resolve("null")


def test_each_registration_of_an_object_is_unique(manager):
    """The cache key of a kernel contains the text: two objects with one package name must not share kernels."""
    registrations = []
    for _ in range(2):
        with manager.register(Plugin("acme"), package="tile-acme"):
            registrations.append(manager.get("acme").registration)
    assert registrations[0] != registrations[1]
    assert all(registrations)
    with manager.register(null_backend, package="tile-null"):
        assert manager.get("null").registration == ""  # a digest of the module's files is in the key


def test_registration_without_with(manager):
    registration = manager.register(Plugin("acme"))
    assert manager.get("acme").package == "Plugin"
    registration.remove()
    registration.remove()
    assert manager.kinds() == ("cpu",)


def test_registration_by_name(manager):
    with manager.register("tilecore.testing.null_backend") as registration:
        assert registration.entry.kind == "null"
        assert manager.get("null").package == "tilecore.testing.null_backend"


def test_registering_a_taken_kind_names_both(manager):
    with manager.register(Plugin("acme"), package="one"), pytest.raises(PluginError, match=r"2 packages: one 0, two 7"):
        manager.register(Plugin("acme"), package="two", version="7")
    with pytest.raises(PluginError, match="tilecore 0, mine 0") as error:
        manager.register(Plugin("cpu"), package="mine")
    assert "pip uninstall mine" in error.value.hint
    assert "uninstall tilecore" not in error.value.hint


def test_a_second_registration_is_not_the_first(manager):
    with manager.register(Plugin("acme", doc="first")):
        assert manager.get("acme").target.doc == "first"
    with manager.register(Plugin("acme", doc="second")):
        assert manager.get("acme").target.doc == "second"


def test_backend_is_memoised(manager):
    plugin = Plugin("acme")
    with manager.register(plugin, kind="acme"):
        assert manager.get("acme") is manager.get(Target("acme")) is manager.resolve({"kind": "acme"})[0]
        assert sorted(plugin.asked) == ["adapters", "codegen", "target"]


def test_lowering_is_asked_for_when_first_read(manager):
    plugin = Plugin("acme")
    with manager.register(plugin, kind="acme"):
        backend, _ = manager.resolve("acme")
        assert "lowering" not in plugin.asked
        assert backend.lowering is backend.lowering
        assert plugin.asked.count("lowering") == 1


def test_listing_asks_for_the_target_only(manager):
    plugin = Plugin("acme")
    with manager.register(plugin, kind="acme"):
        manager.kinds()
        assert plugin.asked == []
        assert manager.status("acme").state == "ok"
        assert plugin.asked == ["target"]


def test_backend_can_be_replaced_like_any_record(manager):
    backend = manager.get("cpu")
    changed = replace(backend, version="9")
    assert (changed.version, changed.kind) == ("9", "cpu")
    assert changed.lowering == backend.lowering
    with pytest.raises(AttributeError):
        backend.package = "other"


def test_threads_load_once(manager):
    class Slow(Plugin):
        @hookimpl
        def tilecore_target(self):
            time.sleep(0.05)
            return super().tilecore_target()

    plugin, resolved = Slow("acme"), []
    with manager.register(plugin, kind="acme"):
        threads = [threading.Thread(target=lambda: resolved.append(manager.resolve("acme"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({id(backend) for backend, _ in resolved}) == 1
    assert len(resolved) == 8
    assert plugin.asked.count("target") == 1


def test_a_slow_plugin_does_not_hold_up_another(manager):
    started, release = threading.Event(), threading.Event()

    class Slow(Plugin):
        @hookimpl
        def tilecore_target(self):
            started.set()
            release.wait(10)
            return super().tilecore_target()

    with manager.register(Slow("acme"), kind="acme"):
        thread = threading.Thread(target=manager.get, args=("acme",))
        thread.start()
        started.wait(10)
        assert manager.get("cpu").kind == "cpu"
        release.set()
        thread.join()


def test_alias_gives_kind_and_attributes(manager):
    aliases = {"acme-big": {"variant": 5}}
    with manager.register(Plugin("acme", aliases=aliases)):
        assert manager.resolve("acme-big")[1] == Target("acme", {"variant": 5})
        assert manager.resolve("acme-big -variant=6")[1] == Target("acme", {"variant": 6})


def test_a_kind_comes_before_an_alias_and_asks_nobody(manager):
    nosy = Plugin("aaa", aliases={"zzz": {}})
    with manager.register(nosy, kind="aaa"), manager.register(Plugin("zzz"), kind="zzz"):
        assert manager.resolve("zzz")[0].kind == "zzz"
        assert nosy.asked == []


def test_shared_alias_goes_to_the_first_kind_whatever_was_loaded_before(manager):
    with (
        manager.register(Plugin("bbb", aliases={"fast": {}})),
        manager.register(Plugin("aaa", aliases={"fast": {}})),
    ):
        manager.get("bbb")
        assert manager.resolve("fast")[0].kind == "aaa"


def test_alias_lookup_passes_over_broken_plugins(manager):
    with (
        manager.register(Plugin("aaa", detect=None), kind="aaa"),
        manager.register(Plugin("bbb", aliases={"fast": {}})),
    ):
        assert manager.resolve("fast")[0].kind == "bbb"


def test_unknown_target_names_the_closest_and_the_installed(manager):
    with manager.register(Plugin("acme", aliases={"acme-mini": {}})):
        with pytest.raises(TargetError) as error:
            manager.resolve("acne")
        text = str(error.value)
        assert "did you mean 'acme'" in text
        assert "cpu, acme" in text or "acme, cpu" in text
        assert "acme-mini" in text
        assert "pip install" not in text  # a wrong letter is no package


@pytest.mark.parametrize(("name", "setting"), [("interpreter", "INTERPRET"), ("sim", "SIMULATE")])
def test_what_is_a_setting_and_no_target(manager, name, setting):
    with pytest.raises(TargetError) as error:
        manager.resolve(name)
    assert f"TILECORE_{setting}=1 runs the kernels" in error.value.hint


def test_unknown_target_tells_of_broken_ones(manager):
    with manager.register(Plugin("acme", detect=None), kind="acme"), pytest.raises(TargetError, match="broken: acme"):
        manager.resolve("tilt")


def test_package_installed_meanwhile_is_found(manager, monkeypatch):
    manager.kinds()
    entry = replace(entry_for("late", "tile-late", "1", "late"), load=lambda: Plugin("late"))
    monkeypatch.setattr(discovery, "discover", lambda: Catalogue({"late": (entry,)}))
    assert manager.get("late").package == "tile-late"


@pytest.mark.parametrize("auto", [None, "auto", " auto "])
def test_auto_is_the_host_when_there_is_no_device(manager, auto):
    with manager.register(Plugin("acme")):
        assert manager.resolve(auto)[0].kind == "cpu"
        assert manager.get(auto).kind == "cpu"


def test_auto_is_the_first_device_present(manager):
    present = {"detect": lambda: Presence(True, "here")}
    with manager.register(Plugin("zzz", **present)), manager.register(Plugin("bbb", **present)):
        with manager.register(Plugin("aaa")):
            assert manager.use_default()[0].kind == "bbb"


def test_auto_is_what_the_environment_says(manager, monkeypatch):
    monkeypatch.setenv("TILECORE_TARGET", "acme -variant=3")
    with manager.register(Plugin("acme")):
        assert manager.use_default()[1] == Target("acme", {"variant": 3})
    with pytest.raises(TargetError, match="TILECORE_TARGET=acme"):
        manager.use_default()


def test_auto_warns_once_of_a_broken_device(manager):
    def detect():
        raise OSError("driver mismatch")

    with manager.register(Plugin("acme", detect=detect), package="tile-acme"):
        with pytest.warns(PluginWarning, match=r"skips target .acme.*tile-acme.*driver mismatch"):
            assert manager.use_default()[0].kind == "cpu"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert manager.use_default()[0].kind == "cpu"


def test_detection_runs_once(manager):
    calls = []
    detect = lambda: calls.append(1) or Presence(False, "no")  # noqa: E731
    with manager.register(Plugin("acme", detect=detect)):
        manager.use_default()
        manager.use_default()
    assert calls == [1]


def test_status_of_a_broken_plugin(manager):
    with manager.register(Plugin("acme", detect=None), kind="acme", package="tile-acme", version="1.5"):
        status = manager.status("acme")
    assert (status.state, status.package, status.version) == ("broken", "tile-acme", "1.5")
    assert "field 'detect'" in status.reason


def test_status_of_an_unknown_kind(manager):
    with pytest.raises(TargetError):
        manager.status("nothing")


def test_refresh_tries_a_failed_plugin_again(manager):
    class Flaky(Plugin):
        fail = True

        @hookimpl
        def tilecore_target(self):
            if Flaky.fail:
                raise OSError("not yet")
            return super().tilecore_target()

    with manager.register(Flaky("acme"), kind="acme"):
        for _ in range(2):
            with pytest.raises(PluginError, match="not yet"):
                manager.get("acme")
        Flaky.fail = False
        with pytest.raises(PluginError, match="not yet"):
            manager.get("acme")
        manager.refresh()
        assert manager.get("acme").kind == "acme"


def test_the_same_failure_is_a_new_exception_each_time(manager):
    with manager.register(Plugin("acme", detect=None), kind="acme"):
        errors = []
        for _ in range(2):
            with pytest.raises(PluginError) as caught:
                manager.get("acme")
            errors.append(caught.value)
    assert errors[0] is not errors[1]
    assert str(errors[0]) == str(errors[1])


def test_kind_of_a_plugin_without_a_target(manager):
    class Nothing:
        tilecore_target = staticmethod(hookimpl(lambda: None))
        tilecore_lowering = staticmethod(hookimpl(lambda: None))
        tilecore_codegen = staticmethod(hookimpl(lambda: None))
        tilecore_adapters = staticmethod(hookimpl(lambda: None))

    with pytest.raises(PluginError, match="must return a TargetSpec"):
        manager.register(Nothing())


def test_resolution_is_memoised_per_target(manager):
    calls = []

    def resolve(target):
        calls.append(str(target))
        return target

    with manager.register(Plugin("acme", resolve=resolve, attributes={"n": AttributeSpec("a number", 1)})):
        for text in ("acme", "acme -n=1", "acme -n=2", "acme"):
            manager.resolve(text)
    assert calls == ["acme -n=1", "acme -n=1", "acme -n=2"]


def test_target_spec_is_a_whole_record(manager):
    assert isinstance(manager.target_spec("cpu"), TargetSpec)
