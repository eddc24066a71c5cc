"""`kubevirt-render argocd`: the config management plugin of Argo CD, and what helps to live with it.

Argo CD calls it in the application's folder, takes stdout for the application's objects, and shows stderr where it fails.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from krm_fn.base.console import file_name, write_out
from krm_fn.base.errors import ConfigError, InputError, RenderError
from krm_fn.base.objects import ref_of
from krm_fn.base.paths import dotted
from krm_fn.base.redaction import redact
from krm_fn.cli import build_flags, options, outputs
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.hosts.argocd import build, world
from krm_fn.hosts.argocd.flags import WantedFlags
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import drift, stages
from krm_fn.pipeline.stages import Judging, Outcome
from krm_fn.repositories import manifests, parameters, sharing, written
from krm_fn.repositories.parameters import Parameters
from krm_fn.repositories.workspace import Asked
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS
from krm_fn.sources.files import Paths
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.source import Source, Sources
from krm_fn.yamlio import dump

# Argo CD waits 60 s for the plugin; rendering after the build takes only a small part of them.
TIMEOUT: float = 45
# A build that takes longer than this part of its time gets a note.
LONG = 0.5


class ApplicationError(RenderError):
    """An error that names the application: Argo CD keeps and shows it far from where it arose."""

    def __init__(self, error: RenderError, name: str) -> None:
        super().__init__(f"application {name}: {error}")
        self.exit_code = error.exit_code


class ArgocdGroup(click.Group):
    """A group that takes a call without a subcommand for `generate`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = (*self.commands, *ctx.help_option_names)
        known = (args and args[0] in own) or ctx.resilient_parsing  # a shell completes the subcommands, too
        return super().parse_args(ctx, args if known else ["generate", *args])


@click.group(cls=ArgocdGroup)
def argocd() -> None:
    """Run as a config management plugin of Argo CD. The default subcommand is generate."""


@argocd.command()
@click.option(
    "--allow-empty",
    is_flag=True,
    help="If there are no objects, succeed with empty output. Argo CD then deletes all objects of the application.",
)
@click.option(
    "--build-option", "build_options", multiple=True, metavar="FLAG", help="A flag to pass to kustomize or helm. Repeatable."
)
@build_flags.build_options(TIMEOUT)
@options.config_options
def generate(
    config_file: str | None, *, allow_empty: bool, build_options: tuple[str, ...], timeout: float, **flags: Any
) -> int:
    """Print the rendered objects of an application.

    The application is the current folder. A kustomization is built with kustomize, and a chart with helm. Otherwise
    all YAML and JSON files in the folder are read. Settings are used in this order: the application's parameters, its
    env, the flags, the config file.
    """
    environment = dict(os.environ)
    try:
        given = parameters.read(environment)
        config = _settings(given, config_file, flags)
        for name in parameters.unknown_variables(environment):
            options.note(f"{name}: unknown variable; it is ignored")
        start = time.monotonic()
        found = _built(environment, build_options, given, timeout)
        items = manifests.in_namespace(found.items, environment.get("ARGOCD_APP_NAMESPACE", ""))
        beside = NO_SURROUNDINGS
        if any(written.mentions(source.data) for source in found.sources):
            left = max(timeout - (time.monotonic() - start), 0.0)
            how = {"config_file": config_file, "isolated": flags["isolated"], "timeout": left, "using": build_flags.builder}
            text = b"\n".join(source.data for source in found.sources)
            beside = world.surroundings(partial(sharing.reach, items, text), Asked(**how), environment, given.context)
        took = time.monotonic() - start
        if took > timeout * LONG:
            options.note(f"reading the application took {took:.0f} s; the limit is {timeout:g} s")
        outcome = stages.render(items, config, places=found.places, judging=Judging(surroundings=beside))
        return _generate(found, outcome, config, may_be_empty=allow_empty or given.allow_empty)
    except RenderError as error:
        raise _named(error, environment) from None


def _named(error: RenderError, environment: Mapping[str, str]) -> RenderError:
    name = environment.get("ARGOCD_APP_NAME")
    return ApplicationError(error, name) if name else error


def _settings(given: Parameters, config_file: str | None, flags: Mapping[str, Any]) -> Config:
    file = given.config or config_file
    if given.config and flags["isolated"]:
        raise ConfigError(
            "the parameter config cannot be combined with --isolated; remove one of them", path="parameter config"
        )
    if given.config and not Path(os.path.realpath(given.config)).is_relative_to(Path.cwd()):  # resolve() fails for a loop
        raise ConfigError(f"{given.config} is not in the application's folder", path="parameter config")
    flags = {**flags, options.UNTRUSTED: bool(given.config)}  # an application can set the parameter
    found = given.over(options.settings(Sources(sources=()), file, flags, near=(os.curdir,)))
    options.note_unmeasured(found.release)
    return found


def _built(environment: Mapping[str, str], build_options: tuple[str, ...], given: Parameters, timeout: float) -> Sources:
    wanted = WantedFlags(words=given.build_options, place=given.options_place)
    return build.build(
        Path(), options=build_options, wanted=wanted, environment=environment, timeout=timeout, network=build_flags.may_fetch()
    )


def _generate(found: Sources, outcome: Outcome, config: Config, *, may_be_empty: bool) -> int:
    report(outcome.findings, sys.stderr)
    if code := results.exit_code(outcome.findings, config.fail_on):
        numbers = results.count(outcome.findings)
        counts = ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in numbers.items() if count)
        raise InputError(f"nothing is generated because of the findings above ({counts}); correct them")
    text = printed(found, outcome, notes=config.provenance or config.pod_size or config.mode == "annotate")
    if not text.strip() and not may_be_empty:
        fix = "if this is intended, set the parameter allowEmpty or --allow-empty"
        raise NothingFoundError(
            f"there is no object to apply, so Argo CD would delete everything that it applied before; {fix}"
        )
    write_out(text)
    return code


def printed(found: Sources, outcome: Outcome, *, notes: bool) -> bytes:
    """What leaves, as one YAML stream."""
    kept: list[Source] = []
    items: list[Any] = []
    numbers: list[int] = []  # of each object the number that it leaves under
    for source, rendered in outputs.rendered(found, outcome):
        leaving = [
            (number, manifests.leaving(item, notes=notes)) for number, item in zip(source.objects, rendered, strict=True)
        ]
        for _, item in leaving:
            numbers.append(len(items))
            items += [] if item is None else [item]
        kept.append(source.but(objects=tuple(number for number, item in leaving if item is not None)))
    added = [manifests.leaving(item, notes=notes) for item in outputs.appended(found, outcome)]
    before = [numbers[number] for number, item in zip(outcome.before, added, strict=False) if item is not None]
    items += [item for item in added if item is not None]
    return outputs.to_yaml(Sources(sources=tuple(kept)), Outcome(items=items, findings=(), before=tuple(before)))


@argocd.command("parameters")
@options.config_options
def announce(config_file: str | None, **flags: Any) -> None:
    """Print the parameters of applications, as JSON."""
    config = options.settings(Sources(sources=()), config_file, flags, near=(os.curdir,))
    click.echo(json.dumps(parameters.announcement(config), indent=2))


@argocd.command()
def discover() -> None:
    """Print the first file with KubeVirt objects.

    It is looked for in the current folder. If there is none, nothing is printed.
    """
    here = Paths([os.curdir])
    for file in here.files(os.curdir):
        found = here.read(os.curdir, file)
        if found and b"kubevirt.io/" in found[0]:
            click.echo(file_name(file))
            return


@argocd.command("ignore-differences")
@options.source_options
@options.config_options
def ignore_differences(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    config_file: str | None,
    *,
    verbose: bool,
    timeout: float,
    follow_links: bool,
    **flags: Any,
) -> int:
    """Print the ignoreDifferences of an Application.

    These are the fields that the cluster changes and that can't be pinned. Some differences disappear if the manifest
    has the value that the cluster stores. These are listed on stderr.
    """
    found = options.read_sources(paths, kustomizations, verbose=verbose, timeout=timeout, follow_links=follow_links)
    found.refuse_skipped()
    config = options.settings(found, config_file, flags, near=(*paths, *kustomizations))
    outcome = stages.render(found.items, config, places=found.places)
    if code := results.exit_code(outcome.findings, config.fail_on):
        report(outcome.findings, sys.stderr)
        return code
    for vm, one in drift.respelt(outcome.items, config):
        place = f"{ref_of(vm)}: {dotted(one.path)}"
        stored, current = (redact(value, one.path) for value in (one.stored, one.current))
        options.note(
            f"{place}: the cluster stores {stored!r} for {current!r}; write it this way, or the application stays out of sync"
        )
    write_out(dump({"ignoreDifferences": drift.ignored(outcome.items, config)}).encode())
    return 0
