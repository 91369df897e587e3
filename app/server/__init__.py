"""The HTTP surface: one module per concern, on aiohttp."""
