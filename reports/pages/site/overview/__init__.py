"""The overview: methods by questions, each with the places that the tests leave open."""
