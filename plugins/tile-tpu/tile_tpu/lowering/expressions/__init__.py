"""Lowers the expressions of a nest to commands. ``dispatch.py`` has the table of them."""
