"""Stores the results of searches in the cache beside the kernels, each as a note in JSON.

A result that does not fit the present configurations is ignored with a warning, and the search runs again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilecore import settings
from tilecore.compilation_cache.current import disk_cache
from tilecore.compilation_cache.warning import warn

if TYPE_CHECKING:
    from tilecore.autotune.configs import Config


@dataclass(frozen=True)
class Stored:
    """index: of the winner among the configurations. The rest as in AutotuneResult."""

    index: int
    latency: float
    ref_latency: float | None
    checked: str


def load(key: str, configs: Sequence[Config]) -> Stored | None:
    """The result of an earlier search, or None."""
    if settings.auto_tuning_disable_cache():
        return None
    text = disk_cache().note("results", key)
    if text is None:
        return None
    try:
        return _decode(text, configs)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        warn(f"a result of the autotuner is not used, and will be replaced: {error}")
        return None


def save(key: str, configs: Sequence[Config], stored: Stored) -> None:
    """Keep a result; problems with the disk are a warning."""
    if settings.auto_tuning_disable_cache():
        return
    body = {
        "index": stored.index,
        "config": repr(configs[stored.index]),
        "latency": stored.latency,
        "ref_latency": stored.ref_latency,
        "checked": stored.checked,
    }
    disk_cache().keep_note("results", key, json.dumps(body))


def _decode(text: str, configs: Sequence[Config]) -> Stored:
    facts = json.loads(text)
    index = facts["index"]
    if not 0 <= index < len(configs) or repr(configs[index]) != facts["config"]:
        raise ValueError("its configuration is not among those to try")
    latency, reference = float(facts["latency"]), facts["ref_latency"]
    return Stored(index, latency, None if reference is None else float(reference), str(facts["checked"]))
