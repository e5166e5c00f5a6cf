"""Methods that update a perceptron after every row, compiled."""
