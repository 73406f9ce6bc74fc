"""Adversaries of the search: `ground` says what may be written, `referee` costs it, `attack` looks for better."""
