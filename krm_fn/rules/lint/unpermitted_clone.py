"""A VM clones a disk of another namespace, and no binding permits it.

What it finds: a DataVolume template with a source in another namespace, where the bundle has no RoleBinding of that namespace
and no ClusterRoleBinding for the service account of the VM or a group that it is in. Namespaces `…-os-images` are skipped,
because their operator permits it to all. So are VMs without a namespace.

Why it matters: KubeVirt creates the DataVolume only if the service account of the VM may clone from there, whoever applies the
VM. The account is `default`, unless the VM names another one. Otherwise the VM waits for its disk, with the event
`UnauthorizedDataVolumeCreate`.

Fix: bind a role with `create` on `datavolumes/source` (group `cdi.kubevirt.io`) in the namespace of the source to the service
account, unless something outside of the bundle does.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web, namespace: shop}
    spec:
      runStrategy: Always
      dataVolumeTemplates:
      - metadata: {name: web-root}
        spec:
          source: {snapshot: {namespace: golden, name: fedora}}
          storage: {resources: {requests: {storage: 30Gi}}}
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
          volumes: [{name: root, dataVolume: {name: web-root}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object, kind_of, name_of, namespace_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.kubevirt.holders import DATA_VOLUMES, RENDERED
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

PUBLIC = "-os-images"
CLONED = ("pvc", "snapshot")
ACCOUNT = "system:serviceaccount"
TEMPLATE: Path = ("spec", "template", "spec")


@rule(severity="info", upstream="pkg/virt-controller/watch/vm/vm.go:authorizeDataVolume")
def unpermitted_clone(facts: BundleFacts) -> Iterator[Hit]:
    clones: dict[tuple[str, str, str], list[tuple[Entry, Path]]] = {}
    for holder in RENDERED:
        for entry in facts.bundle.of_kind(holder.kind, holder.group):
            own, at = namespace_of(entry.obj), holder.in_vm(DATA_VOLUMES)
            for index, template in enumerate(as_list(get(entry.obj, at)) if own and not is_filled_in(own) else ()):
                other, place = _source(as_map(get(template, ("spec",))), facts.bundle)
                if other not in ("", own) and not other.endswith(PUBLIC) and not is_filled_in(other):
                    account = _account(as_map(get(entry.obj, holder.in_vm(TEMPLATE))))
                    clones.setdefault((other, own, account), []).append((entry, (*at, index, "spec", *place, "namespace")))
    bound = _bound(facts.bundle) if clones else set()
    for (other, own, account), found in clones.items():
        (entry, path), *more = sorted(found, key=lambda each: (kind_of(each[0].obj), name_of(each[0].obj), each[1]))
        if not any((place, name) in bound for place in (other, "") for name in _names(account, own)):
            count = f" ({len(more)} more clone{'s' if more[1:] else ''})" if more else ""
            fact = f"to clone from namespace {other}, ServiceAccount {own}/{account} has to be permitted there{count}"
            message = f"{fact}; bind a role with create on datavolumes/source, unless that is done elsewhere"
            yield Hit(message=message, path=path, current=get(entry.obj, path), about=entry)


def _source(spec: Object, bundle: Bundle) -> tuple[str, Path]:
    """The namespace of what is cloned, and the path of what names it."""
    for kind in CLONED:
        if isinstance(found := get(spec, ("source", kind)), dict):
            return text(found.get("namespace")), ("source", kind)
    named = as_map(spec.get("sourceRef"))
    space = text(named.get("namespace"))
    entry = bundle.find("DataSource", space, text(named.get("name"))) if space else None
    source = as_map(get(entry.obj, ("spec", "source"))) if entry else {}
    led = (text(as_map(source.get(kind)).get("namespace")) for kind in CLONED)
    return next(filter(None, led), space), ("sourceRef",)


def _account(spec: Object) -> str:
    names = (text(get(each, ("serviceAccount", "serviceAccountName"))) for each in as_list(spec.get("volumes")))
    return text(spec.get("serviceAccountName")) or next(filter(None, names), "default")


def _bound(bundle: Bundle) -> set[tuple[str, str]]:
    """The namespaces of bindings, "" for all, each with an account or a group that is bound there."""
    bound = set()
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        for entry in bundle.of_kind(kind):
            place = namespace_of(entry.obj) if kind == "RoleBinding" else ""
            for subject in map(as_map, as_list(entry.obj.get("subjects"))):
                name, space = text(subject.get("name")), text(subject.get("namespace"))
                bound |= {(place, name), (place, f"{ACCOUNT}:{space}:{name}")}
    return bound


def _names(account: str, own: str) -> tuple[str, ...]:
    """An account of a namespace and the groups that it is in, as bindings name them."""
    return f"{ACCOUNT}:{own}:{account}", "system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{own}"
