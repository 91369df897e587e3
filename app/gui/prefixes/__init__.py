"""What the page of prefixes is made of: its list, its pane, its sheets."""
