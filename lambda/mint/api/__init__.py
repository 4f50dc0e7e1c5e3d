"""The HTTP side of the minting function: requests, and responses in the format that the client accepts."""
