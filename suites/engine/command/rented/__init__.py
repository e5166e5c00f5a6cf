"""A profile on a machine that is rented for minutes, without a network: `bnnbench rented`."""
