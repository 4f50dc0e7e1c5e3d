"""The HTTP side of the minting function: what a request asks for, and the response in the form it accepts."""
