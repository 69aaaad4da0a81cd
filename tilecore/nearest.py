"""Which known name a misspelt one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: object, known: Iterable[object]) -> str | None:
    """The known name that is most like the misspelt one; None where none is like it.

    Likeness is that of :func:`difflib.get_close_matches`, of at least 0.6, without regard to case; of names that differ
    in case only, the one whose case is most like that of the misspelt name.
    """
    import difflib  # only a mistake needs it

    text = str(name)
    spellings: dict[str, list[str]] = {}
    for one in map(str, known):
        spellings.setdefault(one.casefold(), []).append(one)
    close = difflib.get_close_matches(text.casefold(), spellings, 1)
    return difflib.get_close_matches(text, spellings[close[0]], 1, 0)[0] if close else None


def did_you_mean(name: object, known: Iterable[object], written: str = "{!r}") -> str | None:
    """The hint "did you mean 'copy'?" for a misspelt name; None where no known name is like it.

    written: how the name stands in the hint, a format of one field: ``"T.{}"``.
    """
    close = nearest(name, known)
    return None if close is None else f"did you mean {written.format(close)}?"
