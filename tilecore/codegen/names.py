"""Chooses unique and legal names in emitted source, close to the user's names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default "
    "delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile "
    "wchar_t while xor xor_eq main NULL INFINITY NAN assert errno "
    "abs acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf exp exp10 exp2 fabs floor fma fmax fmin "
    "fmod free hypot j0 j1 jn ldexp log log10 log1p log2 malloc max memcpy memset min nextafter pow printf rint round "
    "rsqrt sin sinh sqrt tan tanh trunc y0 y1 yn".split()
)


class Names:
    """Gives every variable of a kernel a name of its own. reserved: the language's words and the names in use."""

    def __init__(self, reserved: Collection[str] = ()) -> None:
        self._reserved = frozenset(reserved)
        self._used: dict[str, int] = {}

    def release(self, name: str) -> None:
        """The variable's scope has ended; another may have its name."""
        self._used.pop(name, None)

    def is_reserved(self, name: str) -> bool:
        return name in _KEYWORDS or name in self._reserved

    def take(self, name_hint: str) -> str:
        """``wanted`` if it is legal, free and not reserved, else one like it."""
        name = self._legal(name_hint)
        if name not in self._used:
            self._used[name] = 0
            return name
        suffix = self._used[name]
        while True:
            suffix += 1
            candidate = f"{name}_{suffix}"
            if candidate not in self._used and not self.is_reserved(candidate):
                self._used[name] = suffix
                self._used[candidate] = 0
                return candidate

    def _legal(self, name_hint: str) -> str:
        name = re.sub(r"\W", "_", name_hint, flags=re.ASCII) or "v"
        if name[0].isdigit() or name.startswith(("__", "tc_", "TC_")) or re.match(r"_[A-Z]", name):
            name = f"v{name}" if name[0] in "_0123456789" else f"v_{name}"
        if self.is_reserved(name) and not name.strip("_"):
            name = f"v{name}"  # languages reserve names of two underscores
        while self.is_reserved(name):
            name += "_"
        return name


def kernel_names(symbols: Sequence[str], reserved: frozenset[str]) -> dict[str, str]:
    """Other names for those kernels of a module whose symbols are reserved, or are no names in ASCII."""
    names = Names(reserved | frozenset(symbols))
    checked = Names(reserved)
    return {
        symbol: names.take(symbol)
        for symbol in symbols
        if checked.is_reserved(symbol) or not (symbol.isascii() and symbol.isidentifier())
    }


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The names in pieces of source text, such as types and functions: no variable may have one of them."""
    return frozenset(word for text in texts for word in re.findall(r"(?<![.\w])[A-Za-z_]\w*", text))
