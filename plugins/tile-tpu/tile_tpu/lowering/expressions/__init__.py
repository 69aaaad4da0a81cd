"""The expressions of a nest become commands; ``dispatch.py`` has the table of them."""
