"""What one region has."""
