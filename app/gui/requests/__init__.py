"""The parts of the requests page."""
