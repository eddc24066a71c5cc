"""Folders with files."""


def tree(folder, files):
    """Writes files, by their paths in a folder."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder
