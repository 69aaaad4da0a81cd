"""From an artifact and the slots of a call to the struct of arguments, the memory and the launches."""
