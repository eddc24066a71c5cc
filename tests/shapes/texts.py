"""Forms of text."""

from __future__ import annotations

from shapes.pieces import BUILTIN, Documents, Make, config_map, disks, each, in_list, numbered, thing, vm


def flow(n: int) -> Documents:
    listed = ", ".join(f"{{name: d{i}, bogus: 1}}" for i in range(n))
    return [vm("v", BUILTIN, domain=f"devices: {{disks: [{listed}]}}\n")]


def nested_lists(n: int) -> Documents:
    return [in_list([in_list(each(n, lambda i: vm(f"v{i}", BUILTIN + "bogus: 1\n")))])]


def blank_lines(n: int) -> Documents:
    return [vm("v", BUILTIN) + "\n" * n]


def comments(n: int) -> Documents:
    return [vm("v", BUILTIN).replace("spec:\n", "spec:\n" + "  # comment\n" * n, 1) + "# comment\n" * n]


def unreadable(n: int) -> Documents:
    """Every other document has a key twice, and some have no end; VMs miss what these may hold."""
    broken = (config_map("c", "name: d\n"), config_map("c", body='data:\n  a: "b\n'), config_map("c", body="data: {a: [\n"))
    return [one for i in range(n) for one in (broken[i % 3], vm(f"v{i}", "instancetype:\n  name: none\n"))]


def anchors(n: int) -> Documents:
    about = "annotations:\n" + numbered("  a{0}: &a{0} b\n  b{0}: *a{0}\n", n)
    return [vm("v", BUILTIN, about=about)]


def anchored_vms(n: int) -> Documents:
    return each(n, lambda i: vm(f"v{i}", BUILTIN, domain="devices: &d {}\n", instance="nodeSelector: *d\n"))


def aliases_of_one(n: int) -> Documents:
    about = "annotations:\n  a: &a b\n" + numbered("  b{0}: *a\n", n)
    return [vm("v", BUILTIN, about=about)]


def aliases_of_a_text(n: int) -> Documents:
    """A long name that many volumes have."""
    return [vm("v", instance=f"volumes:\n- &v {{name: {'a' * 10 * n}, emptyDisk: {{capacity: 1Gi}}}}\n" + "- *v\n" * n)]


def long_line(n: int) -> Documents:
    return [vm("v", BUILTIN, about=f'annotations:\n  a: "{"ab " * n}\\u0041"\n  b: {"c" * n}\n')]


def folded(n: int) -> Documents:
    return [vm("v", BUILTIN, about='annotations:\n  a: "b\n' + "\n    c d \\\n\n" * n + '    e"\n  f: >\n' + "    g h\n\n" * n)]


def block_scalars(n: int) -> Documents:
    user_data = "cloudInitNoCloud:\n    userData: |\n" + numbered("      - line {}\n", n)
    volumes = "volumes:\n- name: d\n  " + user_data
    return [vm("v", BUILTIN, domain=disks(["d"], "disk: {}\n"), instance=volumes)]


def nested(n: int) -> Documents:
    """Annotations of the wrong type, nested as deeply as may be."""
    deep = "".join(f"{'  ' * depth}a:\n" for depth in range(1, 40)) + "  " * 40 + "b: 1\n"
    return each(n, lambda i: vm(f"v{i}", BUILTIN + "bogus:\n" + deep))


def nested_in_flow(n: int) -> Documents:
    return [vm("v", BUILTIN + "bogus: " + "[" * n + "]" * n + "\n")]


def empty_documents(n: int) -> Documents:
    return [vm("v", BUILTIN), *["# nothing\n"] * n, vm("w", BUILTIN)]


def long_duration(n: int) -> Documents:
    healing = f"spec:\n  autohealing:\n    minFailingToStartDuration: '{'1' * n}'\n"
    return [thing("pool.kubevirt.io/v1beta1", "VirtualMachinePool", "p", healing)]


def long_numbers(n: int) -> Documents:
    """A digit n times, where a number, a quantity or an exponent is expected."""
    digits = "1" * n
    requests = f"resources:\n  requests:\n    memory: '{digits}'\n    cpu: 1e{digits}\n"
    domain = f"cpu:\n  cores: {digits}\nmemory:\n  guest: {digits}Gi\n{requests}devices: {{}}\n"
    return [vm("v", BUILTIN, domain=domain + f"firmware:\n  uuid: {digits}\n")]


def unreadable_only(n: int) -> Documents:
    return ["a: b\na: c\n"] * n


def open_marks(n: int) -> Documents:
    """Beginnings of placeholders without an end, and a name of many variables that is none."""
    about = f"namespace: '{'$aaa' * n}!'\nlabels:\n  a: '{'<% ' * n}'\n"
    return [vm("v", f"instancetype:\n  name: '{'{{ ' * n}'\n", about=about)]


def one_line(n: int) -> Documents:
    return [vm("v", BUILTIN) + "a: [" + "1," * n + "\n"]


SHAPES: dict[str, tuple[Make, str]] = {
    "flow": (flow, "check in-place migrate"),
    "nested-lists": (nested_lists, "function check in-place"),
    "blank-lines": (blank_lines, "function in-place"),
    "comments": (comments, "function in-place"),
    "unreadable": (unreadable, "check baseline"),
    "unreadable-only": (unreadable_only, "check"),
    "open-marks": (open_marks, "check"),
    "one-line": (one_line, "check"),
    "anchors": (anchors, "function check in-place migrate"),
    "anchored-vms": (anchored_vms, "function check in-place"),
    "aliases-of-one": (aliases_of_one, "function check in-place"),
    "aliases-of-a-text": (aliases_of_a_text, "check"),
    "long-line": (long_line, "function check in-place"),
    "folded": (folded, "function check in-place"),
    "block-scalars": (block_scalars, "function check in-place"),
    "nested": (nested, "function check in-place"),
    "nested-in-flow": (nested_in_flow, "function check"),
    "empty-documents": (empty_documents, "check in-place migrate"),
    "long-duration": (long_duration, "check"),
    "long-numbers": (long_numbers, "function check"),
}
