"""Argo CD reports a VM as out of sync, because the cluster stores something else than git has.

What it finds: a VM that an Application of Argo CD applies, with a field that KubeVirt changes when it stores the object: an
amount in another spelling, a reference that is resolved once, a field inside a list that is filled. It does not speak where the
Application ignores the difference, or compares on the server (annotation
`argocd.argoproj.io/compare-options: ServerSideDiff=true`). It does not read Argo CD's own ConfigMap, which can ignore
differences for all Applications.

Why it matters: the Application is never in sync, or is synced over and over. Real differences are not seen any more.

Fix: write an amount as the cluster stores it. Add other fields to `ignoreDifferences` of the Application:
`kubevirt-render argocd ignore-differences` prints what to add.

Example:

    files:
      apps/vms.yaml: |
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: vms, namespace: argocd}
        spec:
          source: {repoURL: "https://git.example.com/fleet.git", path: vms}
          destination: {server: "https://kubernetes.default.svc", namespace: shop}
      vms/web.yaml: |
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: web}
        spec:
          runStrategy: Always
          template: {spec: {domain: {memory: {guest: 2048Mi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import dotted
from krm_fn.base.wording import show
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import ALWAYS, Hit, rule

SYNC = "so Argo CD reports the VM as out of sync"


@rule(severity="info", certain=ALWAYS)
def out_of_sync(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.drifts:
        for one in each.respelt:
            message = (
                f"the cluster stores {show(one.stored, one.path)} for {show(one.current, one.path)}, {SYNC}; write it this way"
            )
            yield Hit(message=message, path=one.path, current=one.current, proposed=one.stored, about=each.entry)
        if each.changed:
            fields = ", ".join(dotted(path).replace(".*", "[]") for path in each.changed)
            remedy = "add what `kubevirt-render argocd ignore-differences` prints to its Application"
            start = each.changed[0][: each.changed[0].index("*")] if "*" in each.changed[0] else each.changed[0]
            yield Hit(message=f"the cluster changes {fields}, {SYNC}; {remedy}", path=start, about=each.entry)
