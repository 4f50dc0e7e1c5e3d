"""Decides what is read and written, and does neither."""
