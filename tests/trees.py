"""Folders with files."""

LINK = "-> "


def tree(folder, files):
    """Writes files, by their paths in a folder; `-> PATH` is a symbolic link."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith(LINK):
            file.symlink_to(text.removeprefix(LINK))
        else:
            file.write_text(text)
    return folder
