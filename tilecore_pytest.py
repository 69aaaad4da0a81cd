"""pytest loads this module from the entry points of the distribution tilecore; it loads the plugin.

It stands beside the package on purpose. pytest rewrites the assertions of the modules of a plugin's distribution, and
finds them by its files. ``tilecore/__init__.py`` is a file of tilecore-runtime, so without this module pytest takes the
folders of ``tilecore/`` for packages of the top level, ``math`` for one, and warn in every run.
"""

pytest_plugins = ["tilecore.testing.pytest_plugin"]
