"""Known-distribution problems: distributions of functions, and making and checking their files."""
