"""The factors of the graph: stateless, elementwise over any shape, with messages both ways."""
