"""Carries out what the client decides, with threads or asyncio."""
