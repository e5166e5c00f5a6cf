"""Tables of the user: columns, splits, and the source that makes folds of them."""
