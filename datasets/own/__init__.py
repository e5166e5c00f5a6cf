"""Data of the user: files as tables, splits, images, and the sources that make folds of them."""
