"""Sources derived from other sources: fewer rows, other folds, other scales, a pool."""
