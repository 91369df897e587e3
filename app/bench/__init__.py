"""Measures Ondol from outside, as its clients see it, beside plain mlx-lm on the same prompts."""
