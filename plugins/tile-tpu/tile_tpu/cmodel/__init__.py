"""The vendor's CModel, in a process of its own: an assertion of it ends the process that it runs in."""
