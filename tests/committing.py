"""git repositories for tests, without the user's settings."""

import os
import subprocess

from trees import tree

NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
NOBODY |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}


def git(folder, *words):
    """Run git in a folder."""
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **NOBODY})


def commit(folder, files):
    """Write files, and commit all that changed."""
    git(tree(folder, files), "add", "-A")
    git(folder, "commit", "-q", "-m", "change")
