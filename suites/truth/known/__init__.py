"""Families of oracle problems: laws of functions, and how their files are made and checked."""
