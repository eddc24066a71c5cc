"""Texts with a canary in places that are secret: what shows it shows a secret. Right YAML and broken YAML, by a seed."""

from __future__ import annotations

from random import Random
from typing import Any

from krm_fn import yamlio

CANARY, NUMBER = "Canary7Bird", 867530912345
MARK = "xxMARKxx"  # stands where the canary comes, so that what no writer writes can come there

KEYS = (
    *("userData", "userdata", "UserData", "user_data", "user-data", "userDtaa", "usrData", "userDat", "userDataBase64"),
    *("networkData", "networkdata", "netwrkData", "networkDataBase64", "password", "Password", "pasword", "passwrod", "passwd"),
    *("userPasswords", "token", "Token", "tokn", "apiToken", "key", "Key", "keys", "sshKey", "ssh_key", "apiKey", "privateKey"),
    *("ssh-authorized-keys", "sshAuthorizedKeys", "sshPublicKeys", "session", "dhCert", "extraHeaders", "httpHeaders"),
)
WORDS = ("data", "value", "a", "content", "x-y", "spec", "name")

# How a canary is written where a value is to stand: the first ones are right everywhere, of the others most are not.
RIGHT = (
    *(CANARY, f"'{CANARY}'", f'"{CANARY}"', str(NUMBER), f"-{NUMBER}", f"{NUMBER}.5", f"[{CANARY}]", f"{{{CANARY}: 1}}"),
    *(f"{{a: {{{CANARY}: {CANARY}}}}}", f"[[{CANARY}]]", f"{{password: {CANARY}}}", f"{{{CANARY}: {{{CANARY}: []}}}}"),
    *(f"!x {CANARY}", f"!{CANARY} x", f"&{CANARY} x", f"!!str {CANARY}", f"[{NUMBER}, null, {CANARY}]"),
    *(
        f"https://admin:{CANARY}@example.com/disk.img",
        f'"#cloud-config\\npassword: {CANARY}\\n"',
        f'\'{{"token": "{CANARY}"}}\'',
    ),
    *(f"|\n      #cloud-config\n      password: {CANARY}\n      {CANARY}: x", f">-\n      {CANARY}\n\n      {CANARY} x"),
    *(f'"one\n      {CANARY}\n      two"', f"one\n      {CANARY}\n      two"),
)
BROKEN = (
    *(f"*{CANARY}", f"!!int {CANARY}", f"!!float {CANARY}", f"!!bool '{CANARY}'", f"!!binary {CANARY}!", f"!!null {CANARY}"),
    *(f"'{CANARY}", f'"{CANARY}', f"[{CANARY}", f"{{{CANARY}", f"{CANARY}: {CANARY}", f"@{CANARY}", f"`{CANARY}", f"%{CANARY}"),
    *(
        f"- {CANARY}",
        f"? {CANARY}",
        f'"\\{CANARY}"',
        f"|{CANARY}",
        f"> {CANARY} x",
        f"!<{CANARY} x",
        f"!!{CANARY} x",
        f"& {CANARY}",
    ),
    *(
        f"{{{CANARY}: 1, {CANARY}: 2}}",
        f"{{{CANARY}: {{{CANARY}: 1, {CANARY}: 2}}}}",
        f"{{<<: {CANARY}}}",
        f"{{<<: *{CANARY}}}",
    ),
    *(
        f"{{? [{CANARY}] : 1}}",
        f"{{{NUMBER}{NUMBER}: 1}}",
        f"|\n      {CANARY}\n\t{CANARY}",
        f"|\n   x\n  {CANARY}",
        f"'a' {CANARY}",
    ),
    *(
        f"{CANARY}\n\t{CANARY}: 1",
        f"{CANARY}\x07",
        f"\n\t{CANARY}",
        f"{{{{ {CANARY} }}}}",
        f"x # y\n      {CANARY}: {{",
        f"*a {CANARY}",
    ),
    *(f"&a [*a, {CANARY}]", f"{CANARY}: {{}}\n      {CANARY}: {{}}", f"{CANARY}: a\n     {CANARY}: b", f"'{CANARY}\n--- x"),
)


def secret(rng: Random) -> Any:
    """A value somewhere below a key that is spelled as one of a secret, or a source of one."""
    below: Any = MARK
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        below = rng.choice(({rng.choice(WORDS): below}, [below], {rng.choice(KEYS): below}))
    return rng.choice(
        (
            *[{rng.choice(KEYS): below}] * 6,
            {"cloudInitNoCloud": below},
            {"cloudInitNoCloud": {rng.choice((*KEYS, *WORDS)): below}},
            {"cloudInitConfigDrive": {rng.choice((*KEYS, *WORDS)): below, "secretRef": {"name": "there"}}},
            {"cloudinitNoClod": {rng.choice(KEYS): below}},
            {"sysprep": rng.choice((MARK, {"unattend": below}))},
            {"sshPublicKey": rng.choice((MARK, {"source": MARK}, {rng.choice((*KEYS, *WORDS)): below}))},
            {"userPassword": rng.choice((MARK, {"source": MARK}, {rng.choice((*KEYS, *WORDS)): below}))},
            {"accessCredentials": [{rng.choice(("sshPublicKey", "userPassword")): {rng.choice(WORDS): below}}]},
        )
    )


def instance(rng: Random) -> dict[str, Any]:
    """The spec of a VirtualMachineInstance with such a value somewhere."""
    domain: dict[str, Any] = {"devices": {"disks": [{"name": "init", "disk": {"bus": "virtio"}}]}, "memory": {"guest": "1Gi"}}
    volume: dict[str, Any] = {"name": "init"}
    spec: dict[str, Any] = {"domain": domain, "volumes": [volume]}
    place = rng.choice((volume, volume, spec, domain, domain["devices"], domain["devices"]["disks"][0], domain["memory"]))
    if place is not volume:
        volume["containerDisk"] = {"image": "quay.io/x"}
    place.update(secret(rng))
    if rng.random() < 0.15:
        domain["launchSecurity"] = {"sev": {rng.choice(("session", "dhCert", "dhCrt")): MARK}}
    if rng.random() < 0.1:
        spec["readinessProbe"] = {"httpGet": {"port": 80, "httpHeaders": [{"name": "Authorization", "value": MARK}]}}
    if rng.random() < 0.1:
        spec["nodeSelector"] = {rng.choice(KEYS): MARK}
    return spec


def metadata(rng: Random, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "namespace": "shop"}
    if rng.random() < 0.2:
        found[rng.choice(("labels", "annotations"))] = {rng.choice(KEYS): MARK}
    return found


def machine(rng: Random) -> dict[str, Any]:
    """A VirtualMachine, an instance, a pool, a replica set or a preset."""
    spec, kind = instance(rng), rng.choice(("VirtualMachine", "VirtualMachine", "Instance", "Pool", "ReplicaSet", "Preset"))
    vm = {"runStrategy": "Always", "template": {"spec": spec}, "instancetype": {"name": rng.choice(("u1.small", "u1.smal"))}}
    if rng.random() < 0.2:
        source = {"http": {"url": "http://x/", "extraHeaders": rng.choice(([MARK], MARK)), **secret(rng)}}
        vm["dataVolumeTemplates"] = [{"metadata": metadata(rng, "root"), "spec": {"source": source, "storage": {}}}]
    about = {"metadata": metadata(rng, "web")}
    if kind == "VirtualMachine":
        return {"apiVersion": "kubevirt.io/v1", "kind": kind, **about, "spec": vm}
    if kind == "Pool":
        return {
            "apiVersion": "pool.kubevirt.io/v1beta1",
            "kind": "VirtualMachinePool",
            **about,
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "virtualMachineTemplate": {"spec": vm}},
        }
    if kind == "ReplicaSet":
        return {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceReplicaSet",
            **about,
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}},
        }
    name = "VirtualMachineInstance" + ("Preset" if kind == "Preset" else "")
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": name,
        **about,
        "spec": spec if kind == "Instance" else {**spec, "selector": {}},
    }


def other(rng: Random) -> dict[str, Any]:
    """A Secret, however it is spelled, or another object with such a value."""
    kind = rng.choice(
        ("Secret", "Secret", "Secret", "secret", "Secrets", "Sercet", "ConfigMap", "VirtualMachinePreference", "KubeVirt")
    )
    if kind == "ConfigMap":
        return {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": metadata(rng, "x"),
            "data": {rng.choice((*KEYS, "Autounattend.xml")): MARK},
        }
    if kind == "VirtualMachinePreference":
        spec = {"devices": secret(rng), **secret(rng)}
        return {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind, "metadata": metadata(rng, "x"), "spec": spec}
    if kind == "KubeVirt":
        spec = {"configuration": {"developerConfiguration": secret(rng), **secret(rng)}}
        return {"apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": metadata(rng, "x"), "spec": spec}
    if rng.random() < 0.15:
        kind = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype"}
        data = {
            **kind,
            "metadata": {"name": "u1.small"},
            "spec": {"cpu": secret(rng), "memory": {"guest": "1Gi"}, **secret(rng)},
        }
        return {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": metadata(rng, "x"),
            "revision": 1,
            "data": data,
        }
    values = rng.choice((MARK, {"a": MARK}, {"a.b": MARK, "c": {"d": MARK}}, [MARK], {"a": "b", "userdata": MARK}))
    about: dict[str, Any] = {"name": "x", "namespace": "shop"}
    if rng.random() < 0.3:
        about[rng.choice(("labels", "annotations"))] = {rng.choice(("a", "example.com/a")): MARK}
    found = {"apiVersion": "v1", "kind": kind, "metadata": about, rng.choice(("data", "stringData", "stringdata", "x")): values}
    return dict(sorted(found.items())) if rng.random() < 0.5 else found


def listed(rng: Random, objects: list[Any]) -> list[Any]:
    return [{"apiVersion": "v1", "kind": "List", "items": objects}] if rng.random() < 0.15 else objects


def text(rng: Random) -> str:
    """A stream of documents with canaries, one text in two of it broken."""
    objects = [rng.choice((machine, machine, other))(rng) for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.1:
        objects.append({**objects[0], **secret(rng)})  # of the same name, and different
    objects = listed(rng, objects)
    written = "---\n".join(yamlio.dump(each) for each in objects)
    broken = rng.random() < 0.5
    while MARK in written:
        form = rng.choice(BROKEN if broken and rng.random() < 0.6 else RIGHT)
        before, _, after = written.partition(MARK)
        indent = " " * (len(before) - len(before.rstrip("\n")) + _indent(before))
        written = before + form.replace("\n      ", f"\n{indent}") + after
    return _mutated(rng, written) if broken else written


def _indent(before: str) -> int:
    """The indentation of what may follow on the next line."""
    line = before.rpartition("\n")[2]
    return len(line) - len(line.lstrip(" -")) + 2


def _mutated(rng: Random, written: str) -> str:
    """The text with one of its lines doubled, indented wrongly, or left out."""
    lines = written.splitlines(keepends=True)
    for _ in range(rng.choice((0, 1, 2))):
        number = rng.randrange(len(lines))
        line = lines[number]
        lines[number] = rng.choice(
            (line * 2, f" {line}", f"\t{line}", line.lstrip(), f"{line.rstrip()} \t: x\n", line.replace(":", "", 1))
        )
    return "".join(lines)


def shows(told: str) -> bool:
    """True if a text contains the canary, or a part of it."""
    lowered = told.casefold()
    return any(bird in lowered for bird in ("canary7", "7bird", "anary7bi", "8675309", "canary"))
