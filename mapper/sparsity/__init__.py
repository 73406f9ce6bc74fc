"""What zeros do: where they are, what they save, and who waits for whom."""
