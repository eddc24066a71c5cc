"""The stages in order: a bundle is analyzed, checked by the rules, and written in a mode."""
