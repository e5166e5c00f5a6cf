"""Networks of one's own: how an `nn.Module` is built, and run as a layer of an architecture."""
