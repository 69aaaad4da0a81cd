"""Level 0: what the backend says of itself, and that saying it is cheap."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import fields

from tilecore.contract.records import Capabilities, Found, Presence
from tilecore.dtypes import FACTS
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.plugins import manager

LEVEL = 0
SCOPES = {"global", "shared", "shared.dyn", "local", "local.fragment", "local.var"}


def resolved_backend(target):
    return manager.resolve(str(target))


def test_listed(target):
    backend, resolved = resolved_backend(target)
    assert resolved.kind in manager.kinds()
    assert backend.package
    assert backend.version
    assert backend.target.doc.strip()
    assert "\n" not in backend.target.doc


def test_its_import_does_nothing_else(target):
    _, resolved = resolved_backend(target)
    report = manager.status(resolved.kind).report
    assert report is not None
    assert not report.side_effects
    assert not report.slow, f"its import takes {report.seconds:.1f} s"


def test_written_for_a_contract(target):
    backend, _ = resolved_backend(target)
    assert isinstance(backend.target.contract, int)


def test_capabilities_are_words_of_the_language(target):
    backend, resolved = resolved_backend(target)
    declared = backend.target.capabilities(resolved)
    assert isinstance(declared, Capabilities)
    assert declared.dtypes <= set(FACTS), f"no element types: {sorted(declared.dtypes - set(FACTS))}"
    assert declared.tile_ops <= set(TILE_OP_NAMES), f"no tile operations: {sorted(declared.tile_ops)}"
    assert declared.scopes <= SCOPES, f"no memory scopes: {sorted(declared.scopes - SCOPES)}"
    assert "global" in declared.scopes, "tensors are in global memory"
    assert declared.dtypes, "it has no element types"
    assert declared.warp >= 1
    assert min(declared.max_threads, declared.shared_bytes) >= 0


def test_capabilities_are_the_same_each_time(target):
    backend, resolved = resolved_backend(target)
    first, second = (backend.target.capabilities(resolved) for _ in range(2))
    assert all(getattr(first, f.name) == getattr(second, f.name) for f in fields(Capabilities))


def test_known_failures_have_reasons(target):
    backend, resolved = resolved_backend(target)
    for pattern, reason in backend.target.known_failures(resolved).items():
        assert "::" in pattern, f"{pattern} names no case; expected such as test_math.py::*erf*"
        assert reason.strip()


def test_refused_names_are_names_of_the_target(target):
    backend, resolved = resolved_backend(target)
    refused = backend.target.refused_names(resolved)
    assert set(refused) <= set(backend.target.language), "only names of TargetSpec.language can be refused"
    assert all(why.strip() for why, _ in refused.values())
    assert set(backend.target.refused_names(None)) <= set(refused), "what no target has, this one has not"


def test_the_target_resolves_to_itself(target):
    """Its text is part of cache keys, and typed again it means the same."""
    backend, resolved = resolved_backend(target)
    assert resolved_backend(str(resolved))[1] == resolved
    assert backend.target.resolve(resolved) == resolved
    missing = [name for name in backend.target.attributes if resolved.get(name) is None]
    assert not missing, f"attributes without a value: {missing}"


def test_attributes_are_explained(target):
    backend, _ = resolved_backend(target)
    for name, spec in backend.target.attributes.items():
        assert spec.doc.strip(), f"attribute {name} has no words"


def test_aliases_lead_to_the_kind(target):
    backend, resolved = resolved_backend(target)
    for alias in backend.target.aliases:
        assert resolved_backend(alias)[1].kind == resolved.kind


def test_is_a_device_here(target):
    backend, _ = resolved_backend(target)
    start = time.perf_counter()
    presence = backend.target.detect()
    assert time.perf_counter() - start < 5
    assert isinstance(presence, Presence)
    assert presence.detail.strip(), "what was looked for, and where"


def test_execution_backends(target):
    backend, resolved = resolved_backend(target)
    assert backend.adapters
    for name, adapter in backend.adapters.items():
        assert adapter.name == name
        presence = adapter.available(resolved)
        assert isinstance(presence, Presence)
        assert presence.detail.strip()
        assert adapter.torch_device().strip()
        assert (adapter.largest_run() or 1) > 0
        assert adapter.fit(resolved, resolved) > 0, "a kernel for a target fits this target"
        assert isinstance(adapter.machine(resolved), str)


def test_toolchain_says_what_it_looks_for(target):
    backend, resolved = resolved_backend(target)
    for tool in backend.toolchain.find():
        assert isinstance(tool, Found)
        assert tool.present or tool.fix, f"{tool.name} is missing, and nothing says what to do"
    assert backend.toolchain.version(resolved) == backend.toolchain.version(resolved)


def test_listing_targets_is_light(target):
    _, resolved = resolved_backend(target)
    code = (
        "import sys\nfrom tilecore.plugins import manager\n"
        f"backend, _ = manager.resolve({resolved.kind!r})\nbackend.target.detect()\n"
        "print([name for name in ('tvm', 'torch') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.stdout.splitlines()[-1:] == ["[]"], ended.stdout + ended.stderr
