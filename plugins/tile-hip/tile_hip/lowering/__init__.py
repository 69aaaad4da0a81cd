"""How tile-hip lowers tile operations to the instructions of AMD's chips."""
