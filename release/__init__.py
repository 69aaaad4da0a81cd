"""Builds the files of a release and tries them: ``nox -s wheels`` runs ``python -m release`` (CONTRIBUTING.md)."""
