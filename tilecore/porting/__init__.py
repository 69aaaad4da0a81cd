"""Reads programs that are written for TileLang and says what would not run here: ``tilecore port``.

Nothing of a program is executed. ``source.py`` reads its text, ``scopes.py`` and ``uses.py`` find in its syntax tree
what it uses. ``judge.py`` looks that up: names in tilecore itself (``lookup.py``) and in the installed TVM
(``tvm_names.py``), calls (``calls.py``), what a target has (``targets.py``), the host code (``host.py``). ``report.py``
holds what is to be said, ``text.py`` prints it, and ``rewrite.py`` changes the imports.
"""
