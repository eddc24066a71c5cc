"""What the tests of the rule catalogue share: fixture folders, and the findings of a text of YAML documents."""

import contextlib
import inspect
import tempfile
from pathlib import Path

from trees import tree

from krm_fn import config, yamlio
from krm_fn.base.paths import dotted
from krm_fn.cli import baseline
from krm_fn.cli.rules import parts
from krm_fn.findings import fingerprints
from krm_fn.migrate import migrate
from krm_fn.pipeline import stages
from krm_fn.repositories import clusters, judging, sharing, written
from krm_fn.repositories.charts import makes_vms
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.loading import Options
from krm_fn.repositories.running import judge_all
from krm_fn.repositories.types import Discovery, Problem
from krm_fn.repositories.workspace import Asked, Workspace
from krm_fn.rules import registry
from krm_fn.rules.facts.inputs import UnmatchedGlob
from krm_fn.rules.registry import all_rules
from krm_fn.sources import reading, salvage
from krm_fn.sources.files import Paths
from krm_fn.sources.unbuilt import certain, undeployed

FOLDERS = Path(__file__).resolve().parents[1] / "fixtures" / "rules"
TODAY = "2026-01-01"
KEYS = ("severity", "object", "path", "message")


def spec_of(rule):
    """The config of a rule's fixtures and Example: the keys of `spec` in its config.yaml, and the mode that `check` has."""
    file = FOLDERS / rule / "config.yaml"
    return {"mode": "validate", **(yamlio.read_value(file.read_text()) if file.exists() else {})}


def documents(text):
    """(objects, baseline) of a text: a ResourceList gives its items, a document with `findings` is a baseline."""
    items, known = [], None
    for item in filter(None, yamlio.read_stream(text.encode()).items):
        if item.get("kind") == "ResourceList":
            items += item["items"]
        elif "findings" in item:
            known = item
        elif not {"links", "targets", "unmatched", "files"} & set(item):
            items.append(item)
    return items, known


def links_in(text):
    """The links of a folder, by name, that a document with `links` has."""
    found = filter(None, yamlio.read_stream(text.encode()).items)
    return {name: target for item in found for name, target in item.get("links", {}).items()}


def surroundings(text, items):
    """What a document with `targets`, the objects of other targets by their files, offers the items."""
    documents = list(filter(None, yamlio.read_stream(text.encode()).items))
    others = [(file, each) for item in documents for file, each in item.get("targets", {}).items()]
    offers = [offer for file, each in others for offer in sharing.offers(each, file, [(file, n) for n in range(len(each))])]
    return sharing.taken_by(sharing.reach(items, yamlio.dump(items).encode()), sharing.Offered(offers)).surroundings()


def unmatched(text):
    """The globs that a document with `unmatched` has."""
    rows = [row for item in filter(None, yamlio.read_stream(text.encode()).items) for row in item.get("unmatched", ())]
    rest = {"path": ("spec", "clusters", 0, "targets", 0), "file": ".kubevirt-render.yaml", "line": 1, "column": 1}
    return tuple(UnmatchedGlob(**row, **rest) for row in rows)


def unbuilt(text):
    """What is known not to build, before anything is built, of a folder with the files that a document has."""
    files = {
        name: data for item in yamlio.read_stream(text.encode()).items if item for name, data in item.get("files", {}).items()
    }
    with tempfile.TemporaryDirectory() as name:
        found = discover([str(tree(Path(name), files))]) if files else Discovery()
        told = (target for target in found.targets if target.problem and written.counts(target, target.problem))
        known = [target.problem for target in told]
        known += [Problem(file=chart.file, reason="flag", is_chart=True) for chart in found.charts if makes_vms(chart)]
        return [each.but(detail=each.detail.replace(name, "")) for each in known]


# The rules about what applies a folder.
OF_DELIVERIES = ("out-of-sync", "unseen-configuration")


def of_deliveries(text):
    """The findings about what applies a folder with the files that a document has: kpt, or an Application of Argo CD."""
    files = {
        name: data for item in yamlio.read_stream(text.encode()).items if item for name, data in item.get("files", {}).items()
    }
    if not any(name.endswith("Kptfile") or "kind: Application" in data for name, data in files.items()):
        return []
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        tree(Path(name), files)
        units = Workspace(Asked(checking=lambda given: given.but(mode="validate"))).units
        done = judge_all(units, Options(), jobs=1, watch=reading.unwatched, reading=reading.unwatched)
        return [each for result in done for each in result.findings if each.rule in OF_DELIVERIES]


def skipped(links):
    """The skipped files of a folder with these links. Beside it is a folder `common` with `vm.yaml`."""
    with tempfile.TemporaryDirectory() as name:
        folder, common = Path(name) / "folder", Path(name) / "common"
        folder.mkdir()
        common.mkdir()
        (common / "vm.yaml").touch()
        for link, target in links.items():
            (folder / link).symlink_to(target)
        given = Paths([str(folder)])
        list(given.files(str(folder)))
        return given.skipped


def parts_of_objects(text, settings):
    """The findings about parts of objects in a folder with the files that a document has."""
    files = {
        name: data for item in yamlio.read_stream(text.encode()).items if item for name, data in item.get("files", {}).items()
    }
    with tempfile.TemporaryDirectory() as name:
        known = discover([str(tree(Path(name), files))]) if files else Discovery()
        folders = frozenset(folder for target in known.targets for folder in target.kustomizations)
        loose = [file for file in known.files if "{{" not in Path(file).read_text()]
        if not loose:
            return []
        found = reading.read((), found=loose, kustomized=folders, unbuilt=False)
        outcome = stages.render(found.items, settings.but(mode="validate"), places=found.places)
        parts, release = certain(outcome.findings, found)[1], outcome.release
        left = undeployed(found, frozenset(filter(found.is_left_out, loose)), settings.severity, release, parts.lacks)
        return [*parts.findings(found, settings.severity, release), *left]


FOUND = ("foreign-document", "unrendered-template")  # the rules about documents that somebody found in a folder


def judged(rule, text):
    """All findings in a text: of documents, objects, the baseline in it and, for a rule about that, of migrating them."""
    readable, lost = salvage.salvage(text.encode(), "")
    items, known = documents(readable.decode())
    spec = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec_of(rule)}
    settings = config.read(spec)
    beside = surroundings(readable.decode(), items)
    outcome = stages.render(items, settings, judging=stages.Judging(following=True, surroundings=beside))
    release = outcome.release
    found = (
        *salvage.findings([each.but(found=rule in FOUND) for each in lost], settings.severity, release),
        *clusters.findings(unmatched(readable.decode()), settings.severity, release),
        *salvage.passed_over(skipped(links_in(readable.decode())), settings.severity, release),
        *(one for each in unbuilt(readable.decode()) for one in judging.of_problem(each, settings.severity, release)),
        *parts_of_objects(readable.decode(), settings),
        *of_deliveries(readable.decode()),
        *outcome.findings,
    )
    if all_rules()[rule].family == "migration":
        return migrate(items, release)[1]
    if known is None:
        return found
    before = baseline.Baseline(file="baseline.yaml", entries=baseline.entries(known))
    split = baseline.split(fingerprints.printed(found), before, today=TODAY, release=release)
    return [*split.new, *registry.judge_bundle(split.facts, settings.severity, "baseline")]


def told(findings):
    """The findings as `expected.yaml` has them."""
    return [
        dict(zip(KEYS, (each.severity, str(each.ref or ""), dotted(each.path), each.message), strict=True)) for each in findings
    ]


def example(rule):
    """The Example of a rule's docstring."""
    return inspect.cleandoc("\n" + parts(all_rules()[rule])["Example"])
