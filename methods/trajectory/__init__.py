"""What the iterates of stochastic gradient descent say about the posterior."""
