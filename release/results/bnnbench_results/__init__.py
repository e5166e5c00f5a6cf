"""Finished runs of bnnbench, which its commands find by themselves.

The folder `bundle` next to this file has compact, sealed records, rounded predictions of some of
them, certified posteriors and problems with a known data distribution.
"""
