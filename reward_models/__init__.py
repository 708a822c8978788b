"""Reward models: where in a completion's text the reward sits."""
