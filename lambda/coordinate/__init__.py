"""The coordinator: the only writer of layouts. Runs at deploy time, never on the request path."""
