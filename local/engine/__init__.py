"""Runs the program and makes what it registers, as Pulumi's engine does."""
