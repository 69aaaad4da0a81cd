"""The cases, a module for each group; LEVEL in a module is the level that its cases count at, 2 unless it says."""
