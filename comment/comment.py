"""Writes a Markdown file as a comment of a pull request (GitHub) or as a note of a merge request (GitLab).

    python3 -I comment.py FILE

The first line of the file is a mark, by which later runs find the comment and update it. Only comments of the token's own
account count: whoever wrote a comment can still edit it. Other programs may write comments with the same account, so the mark
must be one of this project: the file comes from a job that reads a stranger's files. A file that says nothing below its heading
makes no new comment.

GitHub sets all variables but GITHUB_TOKEN and AUTHOR, the account of the token. GitLab sets all but KUBEVIRT_RENDER_TOKEN,
an access token of the project. Without a token, the file is printed: pipelines of forks have none.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Comment = dict[str, Any]

PAGE = 100
MARKS = "<!-- kubevirt-render "  # how all marks begin
MARK = f"{MARKS}diff -->"
# What a run leaves that could not compare: the comment must not show an older state.
FAILED = f"{MARK}\n### kubevirt-render: the comparison failed; the log of the job says why\n"


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Another server must not get the token."""

    def redirect_request(self, *_: object) -> None:
        return


class Server:
    """The comments of one pull request: where they are listed and changed, and which of them are our own."""

    def __init__(
        self,
        *,
        headers: dict[str, str],
        comments: str,
        comment: str,
        update: str,
        author: Callable[[Comment], bool],
    ) -> None:
        self.headers, self.comments, self.comment, self.update = headers, comments, comment, update
        self.author = author

    def ask(self, method: str, address: str, **data: str) -> Any:
        """The answer to a request. Raises: urllib.error.URLError."""
        body = json.dumps(data).encode() if data else None
        headers = {"Content-Type": "application/json", "User-Agent": "kubevirt-render", **self.headers}
        request = urllib.request.Request(address, body, headers, method=method)
        with urllib.request.build_opener(NoRedirects).open(request, timeout=60) as answer:
            return json.load(answer)

    def own(self, mark: str) -> Comment | None:
        """The first comment of our own with this mark, None if there is none."""
        for number in count(1):
            found = self.ask("GET", f"{self.comments}?per_page={PAGE}&page={number}")
            for each in found:
                if self.author(each) and (each["body"] or "").splitlines()[:1] == [mark]:
                    return dict(each)
            if len(found) < PAGE:
                break
        return None

    def write(self, body: str) -> str:
        """Create or update the comment, and say which."""
        own = self.own(body.partition("\n")[0])
        if own is not None:
            if own["body"].strip() == body.strip():
                return "the comment is up to date"
            self.ask(self.update, self.comment.format(own["id"]), body=body)
            return "updated the comment"
        if len(body.split("\n\n")) == 1:
            return "nothing to comment on"
        self.ask("POST", self.comments, body=body)
        return "wrote a comment"


def github(env: Mapping[str, str]) -> Server:
    """The pull request of a workflow that `pull_request` starts."""
    number = json.loads(Path(env["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))["pull_request"]["number"]
    issues = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}/issues"
    return Server(
        headers={"Authorization": f"Bearer {env['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"},
        comments=f"{issues}/{int(number)}/comments",
        comment=f"{issues}/comments/{{}}",
        update="PATCH",
        author=lambda comment: bool((comment.get("user") or {}).get("login") == env.get("AUTHOR", "github-actions[bot]")),
    )


def gitlab(env: Mapping[str, str]) -> Server:
    """The merge request of a merge request pipeline."""
    api, project, number = (env[f"CI_{key}"] for key in ("API_V4_URL", "MERGE_REQUEST_PROJECT_ID", "MERGE_REQUEST_IID"))
    notes = f"{api}/projects/{project}/merge_requests/{number}/notes"
    server = Server(
        headers={"PRIVATE-TOKEN": env["KUBEVIRT_RENDER_TOKEN"]},
        comments=notes,
        comment=f"{notes}/{{}}",
        update="PUT",
        author=lambda note: bool(note["author"]["id"] == own),
    )
    own = server.ask("GET", f"{api}/user")["id"]
    return server


def main(file: str, env: Mapping[str, str]) -> int:
    """The exit code."""
    path = Path(file)
    body = (path.read_text(encoding="utf-8") if path.exists() else "") or FAILED
    if not body.startswith(MARKS):
        return fail(f"{file} does not begin with {MARKS!r}; expected what `kubevirt-render diff -o markdown` prints")
    if not env.get("GITHUB_TOKEN" if "GITHUB_ACTIONS" in env else "KUBEVIRT_RENDER_TOKEN"):
        print(f"no token, so there is no comment\n\n{body}")
        return 0
    try:
        print((github if "GITHUB_ACTIONS" in env else gitlab)(env).write(body))
    except KeyError as error:
        return fail(f"{error.args[0]} is missing; run this in a pipeline of a pull request or a merge request")
    except urllib.error.HTTPError as error:
        return fail(
            f"{error.url}: HTTP {error.code}; the token needs `pull-requests: write` (GitHub) or the scope api (GitLab)"
        )
    except urllib.error.URLError as error:
        return fail(str(error.reason))
    return 0


def fail(message: str) -> int:
    print(f"comment.py: error: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.environ))
