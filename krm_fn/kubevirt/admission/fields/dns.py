"""DNS of the pod: policy, name servers, search paths, options.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validatePodDNSConfig
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map, is_set
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Group, examine, one_of
from krm_fn.kubevirt.admission.formats import is_ip, is_subdomain
from krm_fn.kubevirt.admission.scope import NOT_SUPPORTED, REQUIRED, Cause, Scope, maps

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"

MOST_SERVERS, MOST_SEARCHES, LONGEST_SEARCH_LIST = 3, 6, 256

GROUPS = (
    Group(
        at=(),
        checks=(
            one_of(
                ("dnsPolicy",),
                ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
                reason=NOT_SUPPORTED,
                upstream=VMI + "validateDNSPolicy",
            ),
        ),
    ),
)


@examine("dnsPolicy", upstream=VMI + "validatePodDNSConfig")
def servers_of_policy_none(scope: Scope) -> Iterator[Cause]:
    if scope.spec.get("dnsPolicy") != "None":
        return
    config = scope.spec.get("dnsConfig")
    if config is None:
        yield scope.cause(("dnsConfig",), "dnsPolicy None needs name servers; set dnsConfig", reason=REQUIRED)
    elif not is_set(as_map(config).get("nameservers")):
        at, message = ("dnsConfig", "nameservers"), "dnsPolicy None needs name servers; set one"
        yield scope.cause(at, message, reason=REQUIRED, absolute="nameservers")


@examine("dnsConfig", upstream=VMI + "validatePodDNSConfig")
def dns_config(scope: Scope) -> Iterator[Cause]:
    """Upstream names these three lists without their path."""
    config = as_map(scope.spec.get("dnsConfig"))
    yield from _servers(scope, config)
    yield from _searches(scope, config)
    for index, option in enumerate(maps(config.get("options"))):
        if not is_set(option.get("name")):
            yield scope.cause(("dnsConfig", "options", index, "name"), "name is missing; set it", absolute="options")


def _servers(scope: Scope, config: Object) -> Iterator[Cause]:
    at, servers = ("dnsConfig", "nameservers"), as_list(config.get("nameservers"))
    if len(servers) > MOST_SERVERS:
        message = f"there are {len(servers)} name servers; at most {MOST_SERVERS} are allowed; remove the others"
        yield scope.cause(at, message, absolute="nameservers")
    for index, server in enumerate(servers):
        if not is_ip(server):
            message = f"name server {show(server)} is not an IP address; use one"
            yield scope.cause((*at, index), message, absolute="nameservers")


def _searches(scope: Scope, config: Object) -> Iterator[Cause]:
    at, searches = ("dnsConfig", "searches"), as_list(config.get("searches"))
    if len(searches) > MOST_SEARCHES:
        message = f"there are {len(searches)} search paths; at most {MOST_SEARCHES} are allowed; remove the others"
        yield scope.cause(at, message, absolute="searchDomains")
    if len(" ".join(map(str, searches)).encode(errors="replace")) > LONGEST_SEARCH_LIST:
        message = f"the search paths must have at most {LONGEST_SEARCH_LIST} characters in total; shorten them"
        yield scope.cause(at, message, absolute="searchDomains")
    for index, search in enumerate(searches):
        if not is_subdomain(search):
            message = f"search path {show(search)} is not a DNS subdomain; use DNS labels joined by dots"
            yield scope.cause((*at, index), message, absolute="searchDomains")


EXAMINATIONS = (servers_of_policy_none, dns_config)
