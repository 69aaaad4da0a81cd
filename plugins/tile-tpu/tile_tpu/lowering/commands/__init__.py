"""Collects commands, and the temporaries that they need."""
