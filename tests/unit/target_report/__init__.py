"""What every target makes of every kernel of a file."""
