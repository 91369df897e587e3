"""The pages of the window, each made by a function of its module."""
