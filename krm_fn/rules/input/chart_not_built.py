"""A Helm chart that makes objects of KubeVirt is not built.

What it finds: a chart whose templates mention a kind of KubeVirt and that is not built. As an info, because nobody asked for
it. As a warning, because helm does not build it with its default values, with the first line of what helm says. As an error,
because helm is not on the PATH, or because the chart lacks charts that it depends on, has a link out of the repository, or
takes too long.

Why it matters: the VMs that the chart makes are not checked.

Fix: have charts built with `--helm`, or with `helm: true` in a config that `--config` names. `helm dependency build` fetches
the charts that a chart depends on. If a chart needs values, check what it makes of them: `helm template -f values.yaml CHART |
kubevirt-render check -`. Only `--severity`, or a config that `--config` names, changes the severity: a config inside the
repository does not.

Example:

    # a folder, by its files
    files:
      Chart.yaml: |
        apiVersion: v2
        name: web
        version: 1.0.0
      templates/vm.yaml: |
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata:
          name: {{ .Release.Name }}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.rules.registry import Hit, rule

# Charts that nobody asked for, and those that other values than the default ones may build. The rest is an error.
MILD = {"flag": "info", "refused": "warning"}
MESSAGES = {
    "flag": "this Helm chart makes objects of KubeVirt and is not built; to have it checked, use --helm",
    "program": "this Helm chart makes objects of KubeVirt and is not built: helm is not on the PATH; install it",
    "refused": "helm does not build this with its default values: {detail}",
    "dependencies": "not built: it depends on charts that are not there: {detail}; fetch them with `helm dependency build`",
    "outside": "not built: {detail} is a link out of the repository; replace it by what it leads to",
    "slow": "not built: it was stopped after {detail}; give it less to build, or raise the timeout",
    "late": "not built: the builds before it took all of the time for them; build less at once, or raise --total-timeout",
}


@rule(severity="info", worst="error")
def chart_not_built(facts: InputFacts) -> Iterator[Hit]:
    for each in facts.charts:
        yield Hit(message=MESSAGES[each.reason].format(detail=each.detail), severity=MILD.get(each.reason, "error"))
