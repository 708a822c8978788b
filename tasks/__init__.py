"""Tasks: prompts, and what a good answer to each must satisfy."""
