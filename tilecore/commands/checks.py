"""Implements the checks of ``tilecore doctor`` besides those of the backends.

They return plain data, and import neither TVM nor torch.
"""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

# Distribution, versions that work (prefixes; () for any), what it is for, needed or not.
PACKAGES = (
    ("apache-tvm", ("0.27.",), "lowering and code generation", True),
    ("apache-tvm-ffi", ("0.1.14.post",), "lowering and code generation", True),
    ("numpy", (), "tensors without torch, the interpreter", True),
    ("ml-dtypes", (), "bfloat16 and 8-bit floats in numpy", True),
    ("pluggy", (), "backends", True),
    ("torch", (), "torch tensors", False),
)


def python() -> dict[str, str]:
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "platform": platform.platform(),
    }


def packages() -> list[dict[str, Any]]:
    """Installed versions, read from metadata. state: ok, missing (a needed one), optional (missing), wrong."""
    from importlib.metadata import PackageNotFoundError, version

    rows = []
    for name, prefixes, purpose, needed in PACKAGES:
        facts: dict[str, Any] = {"name": name, "version": "", "for": purpose, "fix": None}
        requirement = f"{name}=={prefixes[0]}*" if prefixes else name
        try:
            facts["version"] = version(name)
            fits = not prefixes or facts["version"].startswith(prefixes)
            facts["state"] = "ok" if fits else "wrong"
        except PackageNotFoundError:
            facts["state"] = "missing" if needed else "optional"
        if facts["state"] != "ok":
            facts["fix"] = f"pip install '{requirement}'"
        rows.append(facts)
    return rows


def environment() -> list[dict[str, Any]]:
    """Every TILECORE_* variable that is set. state: ok, wrong (bad value), unknown (no such setting)."""
    from tilecore import settings
    from tilecore.bundles.signatures import trusted_keys

    rows: list[dict[str, Any]] = []
    for name, setting in settings.SETTINGS.items():
        if os.environ.get(name, "").strip():
            facts = {"name": name, "value": os.environ[name], "state": "ok", "reason": setting.doc, "fix": None}
            try:
                setting.read()
                problems = trusted_keys()[1] if name == "TILECORE_TRUSTED_KEYS" else []
                if problems:
                    facts |= {"state": "wrong", "reason": "; ".join(problems)}
            except settings.SettingError as error:
                facts |= {"state": "wrong", "reason": f"expected {error.expected}", "fix": error.hint}
            rows.append(facts)
    for name in settings.unknown():
        reason = "tilecore knows no such variable"
        rows.append({"name": name, "value": os.environ[name], "state": "unknown", "reason": reason, "fix": None})
    return rows


def launcher() -> dict[str, Any]:
    """Whether the compiled launcher and the compiled launch on devices are installed; plain Python is slower."""
    from tilecore.runtime import device_launch, launcher

    missing = [reason for is_built, reason in (launcher.built(), device_launch.built()) if not is_built]
    state = "optional" if missing else "ok"
    return {"state": state, "reason": missing[0] if missing else launcher.built()[1], "fix": None}


def cache() -> dict[str, Any]:
    """The kernel cache's directory. state: ok, off (by a setting), wrong (cannot be used)."""
    from dataclasses import asdict

    from tilecore.cache import stats
    from tilecore.errors import TilecoreError

    try:
        facts = asdict(stats())
    except TilecoreError as error:
        return {"state": "wrong", "reason": error.message, "fix": error.hint}
    state = "wrong" if facts["problem"] else "ok" if facts["enabled"] else "off"
    fix = "set TILECORE_CACHE_DIR to a directory of your own" if facts["problem"] else None
    return facts | {"state": state, "reason": facts["problem"] or "", "fix": fix}
