"""How the target lowers: the SIMT family, with the matrix instructions of the hardware."""
