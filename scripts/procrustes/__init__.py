"""Reproduction of the results of Procrustes (MICRO 2020): its figures, assumptions about what it leaves out, tables."""
