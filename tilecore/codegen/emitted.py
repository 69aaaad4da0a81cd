"""Checks the result of a code generator: the source text, and its facts about each entry."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from tilecore.contract.origin import Origin
from tilecore.plugins.checking import is_int, shown, wrong

EXPECTED = 'the source text, or a dict of two texts, "source" and "entries"'


def read_emitted(backend: Origin, function: str, emitted: Any, symbols: Collection[str]) -> tuple[str, dict[str, Any]]:
    """(source, facts by symbol) of ``emitted``. symbols: the entries of the module. Raises PluginError."""
    what = f"the code generator {function} returned a wrong value"
    if isinstance(emitted, str):
        source, entries = emitted, "{}"
    elif isinstance(emitted, Mapping) and all(isinstance(emitted.get(name), str) for name in ("source", "entries")):
        source, entries = emitted["source"], emitted["entries"]
    else:
        raise wrong(backend, what, shown(emitted), EXPECTED)
    if not source.strip():
        raise wrong(backend, what, "no source at all", EXPECTED)
    try:
        facts = json.loads(str(entries))
    except ValueError as error:
        raise wrong(backend, f"{what}: its entries are no JSON", f"{error}: {shown(str(entries))}", EXPECTED) from None
    expected = f'{{symbol: {{"shared_bytes": int, "attributes": {{...}}}}}} for {", ".join(sorted(symbols))}'
    if not isinstance(facts, dict) or not set(facts) <= set(symbols) or not all(map(_is_fact, facts.values())):
        raise wrong(backend, f"{what}: its entries are wrong", shown(facts), expected)
    return str(source), facts


def _is_fact(fact: Any) -> bool:
    if not isinstance(fact, dict) or not set(fact) <= {"shared_bytes", "attributes"}:
        return False
    shared = fact.get("shared_bytes", 0)
    return is_int(shared) and shared >= 0 and isinstance(fact.get("attributes", {}), dict)
