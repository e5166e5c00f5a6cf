"""The factors of the graph: stateless, elementwise over any shape, both directions together."""
