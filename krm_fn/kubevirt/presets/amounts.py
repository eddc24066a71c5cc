"""Two comparisons of quantities: by value, and as KubeVirt compares the requests of presets, by the way they are written.

KubeVirt compares Go's parsed structures there. They remember the text of a quantity in its shortest form, so that 1Gi and
1024Mi differ; of 8Gi and 8192Mi they remember the amount alone, so that these two are alike. Left out on purpose: a fraction
such as 1.5Gi is held by a pointer in Go, so that KubeVirt finds 1.5Gi in conflict with 1.5Gi; here it is compared by value.
"""

from __future__ import annotations

from krm_fn.kubevirt.quantity import parse


def same_form(one: object, other: object) -> bool:
    """True where KubeVirt finds no conflict between two quantities. What is no quantity is compared as it stands."""
    first, second = parse(one), parse(other)
    return one == other if first is None or second is None else first == second


def same_amount(one: object, other: object) -> bool:
    """True where two quantities are the same amount, however they are written."""
    first, second = parse(one), parse(other)
    return one == other if first is None or second is None else first.nanos == second.nanos
