"""The algorithms and rewards of this package inside other trainers."""
