"""Checks that an updated minting function works."""
