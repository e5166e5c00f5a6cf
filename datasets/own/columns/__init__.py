"""What the columns of a user's table are, and how they become numbers."""
