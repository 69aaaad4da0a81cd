"""Nests of T.Parallel loops: how they lie on the axes of views, and their statements one after the other."""
