"""Ensembles whose members share their matrices."""
