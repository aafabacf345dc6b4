"""Recipes: a file with everything that makes a network's weights, and the stages that run it."""
