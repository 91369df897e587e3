"""The icon in the menu bar: what it shows, what its menu says, and Qt's way of showing it."""
