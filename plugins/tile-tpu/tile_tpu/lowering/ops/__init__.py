"""Tile operations as commands of the tensor unit and DMA. One file an operation; where it declines, the loops family
takes over."""
