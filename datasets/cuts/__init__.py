"""Sources cut out of other sources: fewer rows, other folds, other scales, a pool."""
