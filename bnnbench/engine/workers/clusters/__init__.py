"""Executors on clusters: Ray and Slurm, and the parcels that travel to their machines."""
