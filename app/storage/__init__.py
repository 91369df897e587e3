"""Templates, pins, preferences, request history and chart history in one SQLite database.

`store.Store` is the door; one thread behind it owns the only connection.
"""
