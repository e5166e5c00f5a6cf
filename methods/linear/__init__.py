"""Linear models of the inputs: yardsticks that are not networks."""
