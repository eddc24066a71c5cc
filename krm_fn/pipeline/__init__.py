"""The stages in order: a bundle is analysed, checked by the rules, and written in a mode."""
