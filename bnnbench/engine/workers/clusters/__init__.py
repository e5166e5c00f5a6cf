"""Executors on clusters, Ray and Slurm, and the parcels sent to their machines."""
