"""The vendor's two runtime libraries, called through ctypes. These modules import only the standard library, as the
CModel's process imports them."""
