"""The linear maps of layers, their adjoints, and sums of messages."""
