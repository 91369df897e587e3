"""Ondol's window and menu-bar icon. Main thread only; everything slow is asked of the Desk."""
