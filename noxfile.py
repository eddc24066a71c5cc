"""Every task by one name: `nox -s quick tests lint types docs examples wheel zipapp fuzz bench`.

In a fresh clone each task makes an environment of its own; `nox --no-venv` uses the one nox itself runs in.
"""

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests", "lint", "types", "docs", "examples"]

PROJECT = nox.project.load_toml("pyproject.toml")
PYTEST = ("pytest", "-n", "auto", "--dist", "worksteal")  # neighbours share what they set up
DEV, PLOT = (nox.project.dependency_groups(PROJECT, group) for group in ("dev", "bench"))


def install(session: nox.Session) -> None:
    """The project, editable, with the group `dev`; nothing where the environment is the caller's own."""
    if session.virtualenv.is_sandboxed:
        session.install("-e", ".", *DEV)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests; arguments after `--` go to pytest."""
    install(session)
    session.run(*PYTEST, *session.posargs)


@nox.session
def quick(session: nox.Session) -> None:
    """In a minute: the first test of each module, and the tests of measured cases over a sample of them."""
    install(session)
    session.run(*PYTEST, "--quick", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """All tests, with the branch coverage of krm_fn."""
    install(session)
    session.run(
        "pytest", "-n", "auto", "--dist", "worksteal", "--cov", "--cov-report=term-missing:skip-covered", *session.posargs
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Style, format, and that imports point downward."""
    install(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict; the package is named in pyproject.toml."""
    install(session)
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Write docs/rules anew from the rules' docstrings, then run the tests that hold the docs against the code."""
    install(session)
    session.run("python", "scripts/make_rule_docs.py")
    session.run("python", "scripts/make_policy_docs.py")
    session.run("pytest", "tests/test_docs.py", "tests/test_policies.py")


@nox.session
def examples(session: nox.Session) -> None:
    """Render kustomization-examples and compare with what stands beside them; `-s examples -- update` writes it anew."""
    install(session)
    env = {"UPDATE_EXAMPLES": "1"} if "update" in session.posargs else {}
    session.run("pytest", "tests/test_examples.py", "tests/hosts", "-k", "example or test_47", env=env)


@nox.session
def wheel(session: nox.Session) -> None:
    """The wheel in dist; `nox -s wheel -- FOLDER` puts it elsewhere."""
    making(session, "scripts/make_wheel.py")


@nox.session
def zipapp(session: nox.Session) -> None:
    """The program as one file, dist/kubevirt-render.pyz; `nox -s zipapp -- --help` says what else it can make."""
    making(session, "scripts/make_zipapp.py")


def making(session: nox.Session, script: str) -> None:
    """Run a script that takes what it needs from the locks, by pip: environments that uv makes have none."""
    if session.virtualenv.is_sandboxed:
        session.install("pip")
    session.run("python", script, *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Hold readers and commands to their laws, on lists and trees changed at random: `-s fuzz -- --seconds 60`, or `--help`."""
    install(session)
    session.run("python", "scripts/fuzz", *session.posargs)


@nox.session
def data(session: nox.Session) -> None:
    """Make the tables of releases from KubeVirt's sources: `nox -s data -- --source CLONE [--release 1.6.6] [--check]`."""
    install(session)
    for script in ("make_schema", "make_catalogue", "make_gates", "check_served"):
        session.run("python", f"scripts/{script}.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Ratios of time and memory; `nox -s bench -- --short` for a quick look, `--write` for the page, `--help` for the rest."""
    install(session)
    if session.virtualenv.is_sandboxed and "--write" in session.posargs:
        session.install(*PLOT)
    session.run("python", "bench/run.py", *session.posargs)
