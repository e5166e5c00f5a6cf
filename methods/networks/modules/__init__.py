"""Custom networks: building an `nn.Module`, and running it as a layer of an architecture."""
