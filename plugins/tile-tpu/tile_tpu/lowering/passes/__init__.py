"""The passes of this backend. One file is one pass, and has its name."""
