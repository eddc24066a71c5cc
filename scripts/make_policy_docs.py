"""Writes policies/README.md, the page of the library of policies, from the comments at the head of their configs.

python scripts/make_policy_docs.py
"""

from __future__ import annotations

from pathlib import Path

from krm_fn import config, yamlio

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "policies"
TARGET = FOLDER / "README.md"
HEAD = """\
# Policies to start from

Each folder has a policy. Most of them judge the rendered VM, so a VM that only names an instancetype is judged by its real
size. Copy the entries of `schemaPolicies` into the config of your repository, and change names, labels and numbers to yours.
[Policies in JSON Schema](../docs/schema-policies.md) explains the form.

The folders `good` and `bad` are [cases](../docs/testing.md): what passes, and what is found. Copy them too, and run them:

```sh
kubevirt-render test policies
```

To try a policy:

```sh
kubevirt-render check vm.yaml --config policies/no-flat-vms/config.yaml
```

<!-- Written by scripts/make_policy_docs.py from the comments at the head of the files. -->

"""


def page() -> str:
    """The page."""
    return HEAD + "\n".join(_section(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir())


def _section(folder: Path) -> str:
    text = (folder / "config.yaml").read_text()
    head = [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")]
    rows = "\n".join(map(_row, config.read(yamlio.read_value(text)).schema_policies))
    return f"## [{folder.name}]({folder.name}/config.yaml)\n\n**{head[0]}** {' '.join(head[2:])}\n\n{rows}\n"


def _row(policy: dict[str, object]) -> str:
    return f"- `policy/{policy['name']}` ({policy['severity']}, on `{policy['on']}`): {policy['message']}"


if __name__ == "__main__":
    TARGET.write_text(page())
