"""Presets, and the instances and VMs that they match."""

from __future__ import annotations

from collections.abc import Callable

from shapes.pieces import Documents, Make, each, expressions, instance_of, labelled, matching, numbered, preset, vm


def presets_and_instances(
    selector: Callable[[int], str], labels: Callable[[int], str], *, domain: str = "", of_preset: str = "cpu:\n  cores: 2\n"
) -> Make:
    def shape(n: int) -> Documents:
        presets = each(n, lambda i: preset(f"p{i}", selector(i), of_preset.format(i)))
        return [*presets, *each(n, lambda i: instance_of(f"i{i}", labels(i), domain))]

    return shape


def presets_and_vms(n: int) -> Documents:
    domain = "resources:\n  requests:\n    memory: 1Gi\n"
    presets = each(n, lambda i: preset(f"p{i}", matching(app=f"a{i}"), domain))
    return [*presets, *each(n, lambda i: vm(f"v{i}", labels=labelled(app=f"a{i}")))]


def all_labels(_: int) -> str:
    return "selector: {}\n"


def no_labels(_: int) -> str:
    return ""


def one_label(i: int) -> str:
    return labelled(app=f"a{i}")


def one_preset(selector: Callable[[int], str], labels: Callable[[int], str] = one_label, domain: str = "{}") -> Make:
    """One preset with n of something, and n instances."""

    def shape(n: int) -> Documents:
        given = preset("p", selector(n), domain) if domain != "{}" else preset("p", selector(n))
        return [given, *each(n, lambda i: instance_of(f"i{i}", labels(i)))]

    return shape


def many_values(operator: str) -> Callable[[int], str]:
    def selector(n: int) -> str:
        return expressions([f"key: app\n    operator: {operator}\n    values:\n" + numbered("    - v{}\n", n).rstrip("\n")])

    return selector


def large_preset(n: int) -> Documents:
    """One preset with a section of n values, and n instances that take it."""
    domain = "features:\n" + numbered("  f{}:\n    enabled: true\n", n)
    return [preset("p", domain=domain), *each(n, lambda i: instance_of(f"i{i}"))]


def large_disagreement(n: int) -> Documents:
    requests = "resources:\n  requests:\n"
    presets = [preset(name, domain=requests + numbered(f"    r{{}}: {name[1:]}\n", n)) for name in ("p1", "p2")]
    return [*presets, *each(n, lambda i: instance_of(f"i{i}"))]


SHAPES: dict[str, tuple[Make, str]] = {
    "presets-for-all": (presets_and_instances(all_labels, no_labels), "function check fold include migrate explain"),
    "presets-that-clash": (presets_and_instances(all_labels, no_labels, domain="cpu:\n  cores: 4\n"), "function check sarif"),
    "presets-that-disagree": (presets_and_instances(all_labels, no_labels, of_preset="cpu:\n  cores: {}\n"), "fold check"),
    "presets-in-no-order": (
        presets_and_instances(all_labels, no_labels, of_preset="resources:\n  requests:\n    r{}: 1\n"),
        "function check",
    ),
    "presets-that-give-nothing": (presets_and_instances(all_labels, no_labels, of_preset="memory:\n  guest: 1Gi\n"), "check"),
    "presets-of-one-match": (presets_and_instances(lambda i: matching(app=f"a{i}"), one_label), "function check fold migrate"),
    "presets-of-no-match": (
        presets_and_instances(lambda i: matching(tier="web", app=f"b{i}"), lambda i: labelled(tier="web", app=f"a{i}")),
        "function check",
    ),
    "presets-but-for-one": (
        presets_and_instances(
            lambda i: expressions(
                [f"key: app\n    operator: NotIn\n    values:\n    - a{i}", "key: x\n    operator: DoesNotExist"]
            ),
            lambda i: labelled(app=f"a{i}", x="y"),
        ),
        "function check migrate",
    ),
    "presets-with-wrong-selectors": (
        presets_and_instances(lambda i: expressions([f"key: a\n    operator: Gt\n    values:\n    - v{i}"]), no_labels),
        "function check",
    ),
    "presets-and-vms": (presets_and_vms, "fold include migrate"),
    "preset-with-expressions": (
        one_preset(lambda n: expressions(f"key: k{i}\n    operator: DoesNotExist" for i in range(n))),
        "function check",
    ),
    "preset-in-values": (one_preset(many_values("In")), "function check"),
    "preset-not-in-values": (one_preset(many_values("NotIn")), "function check"),
    "preset-with-labels": (
        one_preset(lambda n: matching(**{f"k{i}": "a" for i in range(n)}), lambda _: labelled(k0="a")),
        "function check",
    ),
    "preset-with-wrong-labels": (one_preset(lambda n: matching(**{f"k{i}": "'a b'" for i in range(n)})), "check"),
    "large-preset": (large_preset, "function check fold"),
    "large-disagreement": (large_disagreement, "check"),
}
