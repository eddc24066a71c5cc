"""Two comparisons of quantities: by value, and by spelling, as KubeVirt compares the requests of presets.

KubeVirt compares Go's parsed structures there. They keep the text of a quantity if it is in its shortest form, so 1Gi and
1024Mi differ. For 8Gi and 8192Mi they keep only the amount, so these two are equal. One case differs on purpose: Go keeps a
fraction such as 1.5Gi behind a pointer, so KubeVirt reports a conflict of 1.5Gi with 1.5Gi; here it is compared by value.
"""

from __future__ import annotations

from krm_fn.kubevirt.quantity import parse


def same_form(one: object, other: object) -> bool:
    """True if KubeVirt finds no conflict between two quantities. Other values are compared as they are."""
    first, second = parse(one), parse(other)
    return one == other if first is None or second is None else first == second


def same_amount(one: object, other: object) -> bool:
    """True if two quantities are the same amount, in any spelling."""
    first, second = parse(one), parse(other)
    return one == other if first is None or second is None else first.nanos == second.nanos
