"""How many words move: exact integer counts."""

from mapper.counts.traffic import ACTIONS, Sharing, Traffic, count, kept_levels, output_words

__all__ = ["ACTIONS", "Sharing", "Traffic", "count", "kept_levels", "output_words"]
