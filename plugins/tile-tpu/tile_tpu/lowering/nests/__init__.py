"""Nests of T.Parallel loops: the mapping of their loops to the axes of views, and the lowering of their statements."""
