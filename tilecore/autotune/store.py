"""Results of searches on disk: <cache>/autotune-v1/ab/cdef..., one small file each.

A file is a line with the sha256 of the rest, and the rest as JSON. What does not match its digest, its key or the
configurations at hand is set aside with a warning, and the search is run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from tilecore import settings
from tilecore.autotune.configs import Config
from tilecore.cache.current import is_cache_enabled
from tilecore.cache.layout import read_file, require_private
from tilecore.cache.publish import publish
from tilecore.cache.warning import warn

FOLDER = "autotune-v1"
_MAGIC = "tilecore-autotune 1"


@dataclass(frozen=True)
class Stored:
    """index: of the winner among the configurations. The rest as in AutotuneResult."""

    index: int
    latency: float
    ref_latency: float | None
    checked: str


def load(key: str, configs: Sequence[Config]) -> Stored | None:
    """The result of an earlier search, or None."""
    path = _path(key)
    if path is None:
        return None
    try:
        data, _ = read_file(path)
    except OSError:
        return None
    try:
        return _decode(data, key, configs)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        warn(f"a damaged result of the autotuner is not used, and will be replaced: {path}: {error}")
        return None


def save(key: str, configs: Sequence[Config], stored: Stored) -> None:
    """Keep a result; problems with the disk are a warning."""
    path = _path(key)
    if path is None:
        return
    body = {
        "key": key,
        "index": stored.index,
        "config": repr(configs[stored.index]),
        "latency": stored.latency,
        "ref_latency": stored.ref_latency,
        "checked": stored.checked,
    }
    text = json.dumps(body, indent=1)
    data = f"{_MAGIC} {sha256(text.encode()).hexdigest()}\n{text}".encode()
    try:
        root = os.path.dirname(os.path.dirname(path))
        staging = os.path.join(root, "staging")
        os.makedirs(staging, mode=0o700, exist_ok=True)
        require_private(root)
        publish(data, staging, path, durable=False)
    except OSError as error:
        warn(f"the result of the autotuner is not kept: {error}")


def _path(key: str) -> str | None:
    """None when results are not to be kept."""
    folder = settings.cache_dir()
    if folder is None or settings.auto_tuning_disable_cache() or not is_cache_enabled():
        return None
    return os.path.join(folder, FOLDER, key[:2], key[2:])


def _decode(data: bytes, key: str, configs: Sequence[Config]) -> Stored:
    header, _, body = data.partition(b"\n")
    if header != f"{_MAGIC} {sha256(body).hexdigest()}".encode():
        raise ValueError("it does not match its digest")
    facts = json.loads(body)
    if facts["key"] != key:
        raise ValueError("it holds another key")
    index = facts["index"]
    if not 0 <= index < len(configs) or repr(configs[index]) != facts["config"]:
        raise ValueError("its configuration is not among those to try")
    latency, reference = float(facts["latency"]), facts["ref_latency"]
    return Stored(index, latency, None if reference is None else float(reference), str(facts["checked"]))
