"""Writes policies/README.md, the page of the library of policies, from the comments at the head of their files.

python scripts/make_policy_docs.py
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krm_fn import yamlio

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "policies"
TARGET = FOLDER / "README.md"
WIDTH = 118
HEAD = """\
# Policies to start from

Each folder has a [ValidatingAdmissionPolicy](../docs/policies.md) with its binding and, where it has some, its
parameters. The same file works here and in a cluster. Most policies judge the rendered VM, so a VM that only names an
instancetype is judged by its real size.

To try a policy, or all of them:

```sh
kubevirt-render check vm.yaml --policy policies/no-flat-vms/policy.yaml
kubevirt-render check vm.yaml --policy policies
```

To keep one, copy its folder, change names, labels and numbers to yours, and name it in the config of your repository:

```yaml
kind: RenderVirtualMachines
spec:
  policies: [policies]
```

If the file is in the bundle as well, the cluster enforces the policy, too, as far as it can see. A VM that a policy
found before is not stopped from being deleted or migrated: the policies judge a change of the object, and not every
update.

The folders `good` and `bad` are [cases](../docs/testing.md): what passes, and what is found. Copy them too, and run
them:

```sh
kubevirt-render test policies
```

Some folders also have the policy as a [JSON Schema](../docs/schema-policies.md) in `schema.yaml`. Its findings point
at the line of the value.

<!-- Written by scripts/make_policy_docs.py from the comments at the head of the files. -->


"""
WHERE = {
    "written": "the object as it is written",
    "rendered": "the rendered VM",
    "instance": "the instance that a VM starts as",
    "pod": "the pod of that instance",
}
ACTIONS = {"Deny": "error", "Warn": "warning", "Audit": "info"}


def page() -> str:
    """The page."""
    return HEAD + "\n".join(_section(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir())


def _section(folder: Path) -> str:
    text = (folder / "policy.yaml").read_text()
    title, *parts = _paragraphs(text)
    policy, binding, *params = list(yamlio.read_stream(text.encode()).items)
    facts = "\n".join(_facts(folder, policy, binding, params))
    told = "\n\n".join(_wrapped(_shown(part)) for part in parts)
    return f"## [{folder.name}]({folder.name}/policy.yaml)\n\n**{title}**\n\n{told}\n\n{facts}\n"


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of the comment at the head of a file."""
    head = text[: text.index("\napiVersion:")]
    return [" ".join(line.removeprefix("#").strip() for line in part.splitlines()) for part in head.split("\n#\n")]


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False))


def _shown(paragraph: str) -> str:
    for start in ("The cluster:", "Adopt:"):
        if paragraph.startswith(start):
            return f"*{start}*{paragraph.removeprefix(start)}"
    return paragraph


def _facts(folder: Path, policy: dict[str, Any], binding: dict[str, Any], params: list[dict[str, Any]]) -> Iterator[str]:
    state = policy["metadata"].get("annotations", {}).get("kubevirt-render.dev/evaluate", "written")
    level = ACTIONS[binding["spec"]["validationActions"][0]]
    yield f"- `policy/{policy['metadata']['name']}` ({level}), on {WHERE[state]}"
    for each in params:
        keys = " and ".join(f"`{key}`" for key in each["data"])
        yield f"- parameters: the ConfigMap `{each['metadata']['name']}` with {keys}"
    if (folder / "schema.yaml").exists():
        yield f"- also as a [JSON Schema]({folder.name}/schema.yaml)"


if __name__ == "__main__":
    TARGET.write_text(page())
