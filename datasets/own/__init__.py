"""The user's data: files as tables, splits, images, and the sources that make folds of them."""
