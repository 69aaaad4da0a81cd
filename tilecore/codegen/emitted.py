"""Checks the result of a code generator: the source text, and its facts about each entry."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.plugins.checking import is_int, shown, wrong

if TYPE_CHECKING:
    from tilecore.contract.origin import Origin
    from tilecore.contract.passes import PassEnv

FACTS = {"shared_bytes", "attributes", "symbol", "figures", "notes", "slow"}
EXPECTED = 'the source text, or a dict of texts, "source", "entries" and, where it is not Codegen.emits, "format"'


@dataclass(frozen=True)
class EmittedModule:
    """What a code generator returned for a module. facts: of each entry, by symbol. source_format: "" for that of
    ``Codegen.emits``."""

    source: str
    facts: dict[str, Any]
    source_format: str = ""

    def name_of(self, symbol: str) -> str:
        """What the source calls an entry."""
        return str(self.facts.get(symbol, {}).get("symbol", symbol))

    def report(self, env: PassEnv) -> None:
        """Add what the facts say about the kernels to the report of a compilation: figures, notes and slow parts."""
        for symbol, fact in self.facts.items():
            name = self.name_of(symbol)
            if fact.get("figures"):
                env.note("figures", {"kernel": name, "figures": fact["figures"]})
            for topic in ("notes", "slow"):
                for text in fact.get(topic, ()):
                    env.note("notes", {"text": f"{name}: {text}", **({"slow": True} if topic == "slow" else {})})


def read_emitted(backend: Origin, function: str, emitted: Any, symbols: Collection[str]) -> EmittedModule:
    """What ``emitted`` says. symbols: the entries of the module. Raises PluginError where it is wrong."""
    message = f"the code generator {function} returned a wrong value"
    if isinstance(emitted, str):
        source, entries, source_format = emitted, "{}", ""
    elif isinstance(emitted, Mapping) and all(isinstance(emitted.get(name), str) for name in ("source", "entries")):
        source, entries, source_format = emitted["source"], emitted["entries"], emitted.get("format", "")
        if not isinstance(source_format, str):
            raise wrong(backend, f"{message}: its format is wrong", shown(source_format), 'a word, such as "c"')
    else:
        raise wrong(backend, message, shown(emitted), EXPECTED)
    if not source.strip():
        raise wrong(backend, message, "no source at all", EXPECTED)
    try:
        facts = json.loads(str(entries))
    except ValueError as error:
        raise wrong(
            backend, f"{message}: its entries are no JSON", f"{error}: {shown(str(entries))}", EXPECTED
        ) from None
    expected = (
        '{symbol: {"shared_bytes": int, "attributes": {...}, "symbol": str, "figures": {str: int}, "notes": [str], '
        f'"slow": [str]}}}} for {", ".join(sorted(symbols))}'
    )
    if not isinstance(facts, dict) or not set(facts) <= set(symbols) or not all(map(_is_fact, facts.values())):
        raise wrong(backend, f"{message}: its entries are wrong", shown(facts), expected)
    return EmittedModule(str(source), facts, str(source_format))


def _is_fact(fact: Any) -> bool:
    if not isinstance(fact, dict) or not set(fact) <= FACTS:
        return False
    shared, figures = fact.get("shared_bytes", 0), fact.get("figures", {})
    return (
        (is_int(shared) and shared >= 0)
        and isinstance(fact.get("attributes", {}), dict)
        and isinstance(fact.get("symbol", ""), str)
        and (isinstance(figures, dict) and all(map(is_int, figures.values())))
        and all(_are_texts(fact.get(topic, [])) for topic in ("notes", "slow"))
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
