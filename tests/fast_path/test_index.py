"""The index of a listing: it finds what the index of all objects finds."""

import pytest

from krm_fn import yamlio
from krm_fn.base.bundle import Bundle
from krm_fn.fast_path.index import ListingBundle
from krm_fn.fast_path.listing import Listing

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
ITEM = "- apiVersion: {}\n  kind: {}\n  metadata:\n    name: {}\n"
SIZE = "VirtualMachineInstancetype"
VERSION = "instancetype.kubevirt.io/v1beta1"
ITEMS = ((VERSION, SIZE, "b"), ("other/v1", SIZE, "a"), (VERSION, "ConfigMap", "c"), (VERSION, SIZE, "d"), (VERSION, SIZE, "b"))


@pytest.fixture
def both():
    """The index of all objects, and that of the listing."""
    data = (HEAD + "".join(ITEM.format(*item) for item in ITEMS)).encode()
    listing = Listing(data)
    listing.load()
    return Bundle(yamlio.read_resource_list(data).items), ListingBundle(listing)


def test_a_listing_is_the_bundle_of_its_objects(both):
    usual, found = both
    assert list(found.entries) == list(usual.entries)
    assert found.types == usual.types


@pytest.mark.parametrize("kind", [SIZE, "ConfigMap", "Secret"])
def test_objects_are_found_by_kind(both, kind):
    usual, found = both
    assert list(found.of_kind(kind)) == list(usual.of_kind(kind))
    assert list(found.of_kind(kind, "other")) == list(usual.of_kind(kind, "other"))
    assert found.numbers((kind,)) == usual.numbers((kind,))
    assert found.names(kind, "default") == usual.names(kind, "default")


@pytest.mark.parametrize("name", ["a", "b", "c", "gone"])
def test_objects_are_found_by_name(both, name):
    usual, found = both
    assert found.find(SIZE, "default", name) == usual.find(SIZE, "default", name)
