"""The command line: one module per command, thin: parse, call the API, print."""
