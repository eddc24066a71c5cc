"""What the tests of `check` share: the command called in this process, and a folder with findings of all kinds."""

import contextlib
import io
import os
import sys

from krm_fn.__main__ import guarded
from krm_fn.__main__ import run as run_program

SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: shop}
spec:
  cpu:
    guest: 2
  memory: {guest: 2Gi}
"""

# Its conflict is an error in line 12, column 16; what it conflicts with is in line 6, column 12 of the size.
CONFLICT = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
spec:
  runStrategy: Always
  instancetype: {kind: VirtualMachineInstancetype, name: small}
  template:
    spec:
      domain:
        cpu: {cores: 4}
        devices: {}
"""

# An error that an annotation ignores, in a List.
IGNORED = """\
apiVersion: v1
kind: List
items:
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    name: db
    namespace: shop
    annotations: {kubevirt-render.dev/ignore: "instancetype-conflict: goes with #12"}
  spec:
    runStrategy: Always
    instancetype: {name: u1.small}
    template: {spec: {domain: {cpu: {cores: 4}, devices: {}}}}
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata: {name: old, namespace: shop}
  spec:
    running: true
    instancetype: {name: u1.small}
    template: {spec: {domain: {devices: {}}}}
"""


def write(folder, **texts):
    """Files in a folder: `vm="..."` becomes vm.yaml."""
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


@contextlib.contextmanager
def replaced_stdin(text):
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(text.encode()))
    try:
        yield
    finally:
        sys.stdin = before


@contextlib.contextmanager
def replaced_environment(variables):
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run(*arguments, cwd, stdin="", tty=False, err_tty=False, **environment):
    """(exit code, stdout, stderr) of `kubevirt-render ARGUMENTS` in a folder."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    out.isatty = lambda: tty
    err = io.StringIO()
    err.isatty = lambda: err_tty
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "TERM", "SOURCE_DATE_EPOCH")
    }
    with (
        contextlib.chdir(cwd),
        replaced_stdin(stdin),
        replaced_environment({**kept, **environment}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = guarded(lambda: run_program(arguments))
    return code, out.buffer.getvalue().decode(), err.getvalue()


def check(*arguments, cwd, **more):
    return run("check", *arguments, cwd=cwd, **more)
