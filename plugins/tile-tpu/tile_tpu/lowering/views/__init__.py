"""Translates accesses to tensors, tiles and regions of tiles to views."""
