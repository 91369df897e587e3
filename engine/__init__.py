"""Ondol's engine: a library that runs a model and keeps its prefixes warm. It knows no Qt, no HTTP
and no SQL."""
