"""The forms of text that admission checks, compared with Go's own parsers and Kubernetes' patterns."""

from __future__ import annotations

import pytest

from krm_fn.kubevirt.admission import formats

SOUND = {
    formats.is_label: ["a", "a-1", "1", "a" * 63],
    formats.is_subdomain: ["a", "a.b-c.d", "1.2"],
    formats.is_qualified_name: ["a", "A_b.c", "example.com/a", "a" * 63],
    formats.is_label_value: ["", "A", "a_b.c-d"],
    formats.is_port_name: ["http", "a-1", "a" * 15],
    formats.is_pci_address: ["0000:81:01.0", "ABCD:ef:00.7"],
    formats.is_ip: ["1.2.3.4", "::", "::1", "fe80::1:2", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::ffff:1.2.3.4", "1::8.8.8.8"],
    formats.is_ipv4_or_mapped: ["10.0.0.1", "::ffff:1.2.3.4"],
    formats.is_clean_path: ["/a", "/a/b.img", "/a/", "//"],
}
BROKEN = {
    formats.is_label: ["", "A", "-a", "a-", "a.b", "a_b", "a" * 64, None, 1, "a\n"],
    formats.is_subdomain: ["", "a..b", ".a", "a.", "A", "a" * 254],
    formats.is_qualified_name: ["", "/a", "a/", "a/b/c", "A.com/x", "a" * 64, "-a"],
    formats.is_label_value: ["-", "a-", "a" * 64, "a b", None],
    formats.is_port_name: ["", "1", "a--b", "-a", "A", "a" * 16],
    formats.is_pci_address: ["", "0000:81:01.8", "0000:81.01:0", "0000:81:01.0\n", "000g:81:01.0"],
    formats.is_ip: [
        "",
        "1.2.3",
        "1.2.3.04",
        "256.1.1.1",
        ":1",
        "1:",
        ":::",
        "1::2::3",
        "1:2:3",
        "fe80::1%eth0",
        "12345::",
        "1.2.3.4::",
    ],
    formats.is_ipv4_or_mapped: ["::1", "x"],
    formats.is_clean_path: ["a", "", "/a//", "/a/../b", "/./a"],
}


@pytest.mark.parametrize(("form", "text"), [(form, text) for form, texts in SOUND.items() for text in texts])
def test_sound_text_has_the_form(form, text):
    assert form(text) is True


@pytest.mark.parametrize(("form", "text"), [(form, text) for form, texts in BROKEN.items() for text in texts])
def test_broken_text_has_it_not(form, text):
    assert form(text) is False


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("de:ad:00:00:be:af", 6),
        ("de-ad-00-00-be-af", 6),
        ("dead.0000.beaf", 6),
        ("de:ad:00:00:be:af:be:af", 8),
        ("de:ad-00:00:be:af", 0),
        ("zz:ad:00:00:be:af", 0),
        ("de:ad:00:00:be", 0),
        ("x", 0),
        (None, 0),
    ],
)
def test_a_mac_address_has_the_bytes_that_go_counts(text, length):
    assert formats.mac_length(text) == length


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("02000000000a", 6),
        ("02000000000A", 6),
        ("0200000000000a0b", 8),
        ("00" * 20, 20),
        ("02000000000", 0),
        ("0200000000000a", 0),
        ("02000000000g", 0),
        ("02:00:00:00:00:0a", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_a_mac_address_without_separators_has_the_bytes_that_go_1_26_counts(text, length):
    assert formats.bare_mac_length(text) == length


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("q35*", "q35", True),
        ("q35*", "pc-q35", False),
        ("pc-q35*", "pc-q35-rhel9.4.0", True),
        ("q35*", "q35/a", False),
        ("a*b*c", "aXbYbZc", True),
        ("a*b*c", "aXbYbZ", False),
        ("?35", "q35", True),
        ("[p-r]35", "q35", True),
        ("[^q]35", "q35", False),
        ("[a-]", "a", False),
        ("[-a]", "a", False),
        ("[]a]", "a", False),
        ("[^", "a", False),
        ("[\\]-^]", "]", True),
        ("[a\\-c]", "-", True),
        ("[a\\-c]", "b", False),
        ("[a-cx]]", "b]", True),
        ("\\*", "*", True),
        ("[", "a", False),
        ("", "", True),
        ("", "a", False),
        ("*b", "a" * 3000, False),
    ],
)
def test_machine_types_match_patterns_as_filepath_match_does(pattern, text, matches):
    assert formats.matches_glob(pattern, text) is matches


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aGVsbG8=", (5, True)),
        ("aGVs\r\nbG8=", (5, True)),
        ("aGVsbG9=", (5, True)),
        ("aGVsbG8", (3, False)),
        ("aGVsbG8==", (3, False)),
        ("AAAA==", (3, False)),
        ("AAAA====", (3, False)),
        ("A===", (0, False)),
        ("====", (0, False)),
        ("AA==AA==", (0, False)),
        ("aA\n=\r\n=", (1, True)),
        ("%", (0, False)),
        ("aGVs%bG8=", (3, False)),
    ],
)
def test_base64_is_measured_up_to_where_it_breaks(text, expected):
    assert formats.base64_length(text) == expected
