"""Compile and render React components that a model wrote, and say exactly how each one ended."""
