"""The coordinator: the only writer of layouts. Runs at deployments and to create a counter, never to mint."""
