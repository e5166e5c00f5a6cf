"""Statistical procedures: variances, intervals, ranks, corrections for many comparisons."""
