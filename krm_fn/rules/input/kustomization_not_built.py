"""A kustomization with objects of KubeVirt is not built.

What it finds: a kustomization that kustomize refuses to build, with the first line of what kustomize says; one that Flux or
Argo CD refuses, such as for a variable without a value; one that includes itself; a kustomization.yaml that can't be read; one
with a key in other letters than kustomize writes it, or with a value for helm that is a flag; and one that is out of reach: it
refers to another machine, to a folder outside the repository, or to a file that git ignores, a submodule has or a template
makes; it names a file that is not below its folder, which Flux reads and kustomize does not; it names a template that is no
YAML; it has Helm charts, plugins or a very large file, or takes too long; or neither kustomize nor kubectl is on the PATH. It
counts where a file that it is made of, or one beside it, has an object of KubeVirt. Others are not built, and `--verbose`
counts them. It is a warning where a template beside a missing kustomization makes that one. Only `render` builds all; one that
it can't build is a warning there. An ApplicationSet is a warning where Argo CD can't make its Applications, and an info where
what it finds is not in git.

Why it matters: nobody knows what a tool that applies the kustomization makes of it. Its resources are checked as they are
written, in the namespace that kustomizations set. Patches, generators, charts, prefixes and remote parts are left out, and so
is each finding that these might take away: of a value or an object that is missing, and of several values of an object of
which a patch may change one.

Fix: correct what the message names, and try `kustomize build` in the folder. Copy a remote base into the repository to have it
checked, or use `--network`. If the kustomization is not meant to be built, exclude its folder. Only `--severity`, or a config
that `--config` names, lowers the severity: a config inside the repository does not, nor does its `failOn`.

Example:

    # a folder, by its files
    files:
      kustomization.yaml: |
        resources:
          - vm.yaml
          - https://example.com/base.yaml
      vm.yaml: |
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: web}
        spec: {runStrategy: Always, template: {spec: {domain: {devices: {}}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import InputFacts, Unbuilt
from krm_fn.rules.registry import Hit, rule

MESSAGES = {
    "refused": "kustomize does not build this: {detail}",
    "unreadable": "this kustomization can't be read: {detail}",
    "cycle": "these kustomizations include one another, so none is built: {detail}; remove one of the references",
    "deep": "not built: more than {detail} kustomizations include one another in a row; include fewer",
    "repeated": "not built: it includes the same {detail}; include each once",
    "large": "not built: {detail} has more than 64,000,000 bytes; make it smaller",
    "key": "not built: kustomize reads {detail} as another key; write that with its own small and capital letters",
    "flag": "not built: helm would read {detail} as a flag; names and values of charts must not begin with -",
    "unclear": "not built: {detail} is neither a path nor YAML that can be read; correct it",
    "made": "not built: {detail} makes generators or transformers of others; list the files that have them",
    "remote": (
        "not built: it refers to {detail}, which is not fetched; copy that into the repository, or allow builds to fetch "
        "with --network"
    ),
    "outside": "not built: it refers to {detail}, which is outside the repository; move that into it",
    "restricted": (
        "not built: {detail} is not below the folder of the kustomization; "
        "where your tool reads it (Flux does), set the build flag --load-restrictor=LoadRestrictionsNone"
    ),
    "template": "not built: {detail} is a template; check what the step that renders it writes",
    "absent": "not built: it needs {detail}; provide it to have the kustomization checked",
    "made-later": "not built: it needs {detail}; check what the step that makes it writes",
    "helm": "not built: it has Helm charts; allow them with the build flag --enable-helm",
    "flux": "Flux can't build this: {detail}",
    "argocd": "Argo CD can't build this: {detail}",
    "unmade": "Argo CD can't make all Applications of this ApplicationSet: {detail}",
    "unknown": "some Applications of this ApplicationSet are not known, so they are not judged: {detail}",
    "slow": "not built: it was stopped after {detail}; give it less to build, or raise the timeout",
    "late": "not built: the builds before it took all of the time for them; build less at once, or raise --total-timeout",
    "plugin": "not built: it needs a plugin or a function{detail}, and none is run",
    "program": "not built: neither kustomize nor kubectl is on the PATH; install one of them",
}
INSTEAD = {"": "", "written": "; its files are judged as they are written", "uncompared": "; its VMs are not compared"}


@rule(severity="error")
def kustomization_not_built(facts: InputFacts) -> Iterator[Hit]:
    for each in facts.unbuilt:
        mild = "info" if each.reason == "unknown" else "warning"
        yield Hit(message=message(each), severity="" if each.counts and each.reason != "made-later" else mild)


def message(unbuilt: Unbuilt) -> str:
    """Why a kustomization is not built."""
    detail = unbuilt.detail
    if unbuilt.reason == "plugin":
        detail = f" ({detail})" if detail else ""
    return MESSAGES[unbuilt.reason].format(detail=detail) + INSTEAD[unbuilt.instead]
