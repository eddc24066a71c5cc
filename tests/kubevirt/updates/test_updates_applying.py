"""A manifest on its way into the cluster."""

from __future__ import annotations

from krm_fn.kubevirt.updates.stored_form import applied, replaced

LIVE = {"kind": "VM", "metadata": {"name": "a"}, "spec": {"cpu": 2, "uuid": "drawn", "list": [1, 2]}, "status": {"ready": True}}
OLD = {"kind": "VM", "metadata": {"name": "a"}, "spec": {"cpu": 2, "list": [1, 2]}}


def test_an_unchanged_manifest_sends_nothing() -> None:
    assert applied(OLD, OLD, LIVE) is None


def test_what_no_manifest_names_stays() -> None:
    new = {**OLD, "spec": {"cpu": 4, "list": [3]}}
    assert applied(OLD, new, LIVE) == {**LIVE, "spec": {"cpu": 4, "uuid": "drawn", "list": [3]}}


def test_what_the_new_manifest_leaves_out_is_removed() -> None:
    assert applied(OLD, {**OLD, "spec": {"cpu": 2}}, LIVE) == {**LIVE, "spec": {"cpu": 2, "uuid": "drawn"}}


def test_what_the_cluster_has_changed_is_set_again() -> None:
    live = {**LIVE, "spec": {"uuid": "drawn", "list": [1, 2]}}
    assert applied(OLD, OLD, live) == LIVE


def test_a_removal_is_sent_though_the_cluster_has_the_key_no_more() -> None:
    live = {**LIVE, "spec": {"uuid": "drawn", "list": [1, 2]}}
    assert applied(OLD, {**OLD, "spec": {"list": [1, 2]}}, live) == live


def test_a_manifest_in_place_of_another_leaves_nothing() -> None:
    assert replaced({**OLD, "status": {"ready": False}}) == OLD
