"""The stages in order: a bundle is analyzed, judged and written in a mode."""
