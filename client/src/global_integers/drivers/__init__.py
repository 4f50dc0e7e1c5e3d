"""Carries out what the client decides: over HTTP, with threads or asyncio."""
