"""ScoringBench, a public board of predictive distributions: its columns, from our runs and its own.

Source: github.com/jonaslandsgesell/ScoringBench, as of September 2026.
"""
