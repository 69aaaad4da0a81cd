"""Reads programs that are written for TileLang and says what would not run here: ``tilecore port``.

``uses.py`` finds the names that a program uses, in its syntax tree; nothing of the program is executed. ``judge.py``
looks each up in tilecore itself, and ``targets.py`` what a target has.
"""
