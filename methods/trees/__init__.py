"""Boosted trees and forests: yardsticks that are not networks."""
