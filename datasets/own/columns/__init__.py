"""The kinds of columns of a user's table, and how they become numbers."""
