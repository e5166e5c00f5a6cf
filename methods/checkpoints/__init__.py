"""Long fits keep what they have reached and continue from it."""
