"""Microcanonical Langevin ensembles, and Hamiltonian Monte Carlo for the same model."""
