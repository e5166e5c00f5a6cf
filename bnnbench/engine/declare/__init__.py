"""Declarations of a suite, and the runs that follow from them."""
