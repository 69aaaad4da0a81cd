"""The vendor's two runtime libraries through ctypes. Nothing but the standard library is imported here: the CModel's
process starts with it."""
