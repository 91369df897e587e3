"""The house around the engine: command line, HTTP server, settings, logs."""
