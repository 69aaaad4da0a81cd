"""Accesses of tensors, tiles and regions of tiles become views."""
