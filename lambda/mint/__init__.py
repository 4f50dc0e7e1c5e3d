"""The minting function: one region, one write an integer."""
