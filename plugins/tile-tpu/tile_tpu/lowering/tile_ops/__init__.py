"""Tile operations as commands of the tensor unit and DMA. One file is one operation."""
