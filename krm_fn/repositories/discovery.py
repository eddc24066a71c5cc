"""What is in folders: kustomizations that are to be built, and the files that none of them uses.

A *target* is a kustomization that no other one in the run uses. What a kustomization names in any role is not judged by itself.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from krm_fn.base.expressions import expression
from krm_fn.repositories.charts import charts
from krm_fn.repositories.graph import Graph, GraphNode
from krm_fn.repositories.kustomization import FILES, joined
from krm_fn.repositories.types import Discovery, Problem, Target
from krm_fn.sources.files import CHART, FOLLOW, LARGEST, Paths, folder_of, is_within, refuse_links_out, repository

# What belongs to a Helm chart: its own files, and the folders in which charts have YAML files.
OF_CHART = expression(r"(?:Chart|requirements|values[^/]*)\.ya?ml|(?:templates|charts|crds|ci)/.*")
# How often a target may include what it includes already, and how many bytes of files it may read again; and how many
# kustomizations may include one another in a row.
MOST_AGAIN, MOST_BYTES_AGAIN, DEEPEST = 5_000, 16_000_000, 64


def discover(
    folders: Sequence[str], *, excludes: Callable[[str], bool] = lambda _: False, follow: bool = False, reach: str = os.curdir
) -> Discovery:
    """What is in folders, without the files that `excludes` is true of. Nothing is built.

    Kustomizations outside of the folders are read where one in the folders includes them, and are no targets. Without `follow`,
    nothing is read beyond the repository that the folders are in, or the folder `reach`.
    Raises: InputError where a folder can't be listed, or is a link out of its repository.
    """
    refuse_links_out(() if follow else folders, FOLLOW)
    named = [joined(".", folder) for folder in folders]
    paths = Paths(named, follow=follow, templates=False, names=FILES)
    files = tuple(dict.fromkeys(joined(".", file) for folder in named for file in paths.files(folder)))
    roots = [] if follow else [*map(repository, named), *named, reach]
    sorted_out = _Sorted(files, Graph(frozenset(files), roots), excludes)
    return sorted_out.discovery()._replace(skipped=tuple(paths.skipped), folders=tuple(paths.folders))


class _Sorted:
    """The files that were found, and what each of them is."""

    def __init__(self, files: Sequence[str], graph: Graph, is_excluded: Callable[[str], bool]) -> None:
        self._files, self._graph = files, graph
        self._excluded = frozenset(filter(is_excluded, files))
        nodes = {folder: graph.node(folder) for folder in sorted({folder_of(file) for file in files if _name(file) in FILES})}
        self._nodes = {folder: node for folder, node in nodes.items() if node}
        self._live = [node for node in self._nodes.values() if node.file not in self._excluded]
        self._reached = {node.folder: node for node in self._live}  # these, and all that they include
        for start in self._live:
            if any(below not in self._reached for below in start.includes):
                self._reached.update((node.folder, node) for node in graph.closure(start.folder)[0])

    def discovery(self) -> Discovery:
        included = {below for node in self._reached.values() for below in node.includes if below != node.folder}
        roots = [node for node in self._live if not (node.is_component or node.folder in included)]
        targets = [_target(node, self._graph) for node in roots]
        targets += self._circles(targets)
        named = self._used(self._reached.values())
        if not targets:  # nothing builds the components that are here, so their objects are judged as they are written
            named = named.difference(*(node.resources for node in self._reached.values()))
        used = named | self._of_charts()
        left_out = self._excluded | (self._used(node for node in self._nodes.values() if node.folder not in self._reached))
        rest = [file for file in self._files if file not in used]
        files = tuple(file for file in rest if file not in left_out)
        printed = (file for node in self._reached.values() for file in node.files if file not in node.data)
        return Discovery(
            targets=tuple(sorted(targets, key=lambda target: target.folder)),
            files=files,
            judged=frozenset((*files, *printed)),
            used=frozenset(used),
            listing=frozenset(node.folder for node in self._reached.values() if targets and node.is_clear),
            excluded=tuple(file for file in rest if file in left_out),
            charts=tuple(charts((file for file in self._files if file not in self._excluded), named, self._graph)),
        )

    def _circles(self, targets: Iterable[Target]) -> Iterator[Target]:
        """A target for each circle of kustomizations that no other target includes."""
        seen = {folder for target in targets for folder in target.kustomizations}
        for node in self._live:
            if node.folder not in seen and not node.is_component:
                nodes, cycle = self._graph.closure(node.folder)
                if cycle and seen.isdisjoint(cycle):
                    yield _target(node, self._graph)
                seen.update(each.folder for each in nodes)

    def _used(self, nodes: Iterable[GraphNode]) -> set[str]:
        """The files that kustomizations are made of."""
        nodes = list(nodes)
        used = {file for node in nodes for file in node.files}
        whole = _Below({folder for node in nodes for folder in node.folders})
        return used | {file for file in self._files if whole.has(file)} if whole else used

    def _of_charts(self) -> set[str]:
        """The files that belong to Helm charts."""
        charts = [file.removesuffix(CHART) for file in self._files if _name(file) == CHART]
        ordered = sorted(self._files) if charts else []
        found = set()
        for chart in charts:
            for file in ordered[bisect_left(ordered, chart) :]:
                if not file.startswith(chart):
                    break
                if OF_CHART.fullmatch(file, len(chart)) and _name(file) not in FILES:
                    found.add(file)
        return found


def with_deliveries(found: Discovery, applied: Iterable[Target], folders: Sequence[str]) -> Discovery:
    """What was found in folders, with what is delivered of it in place of the kustomizations and files that this is made of.

    A kustomization that Flux does not have, such as for a `.sourceignore`, stays: nothing else has what it lists.
    """
    tops = [os.path.realpath(folder) for folder in folders]
    made = [each for each in applied if is_within(each.folder, tops)]
    targets = [each for each in made if not each.is_chart]
    whole = [each for each in targets if each.kustomizations or each.is_files]
    lacking = [each for each in targets if each.kustomizations and _lacks_it(each)]
    built = {folder for each in targets for folder in each.kustomizations if folder != each.folder}
    built.update(each.folder for each in targets if (each.inputs or each.kustomizations) and each not in lacking)
    used = frozenset(file for each in whole for file in each.inputs if not (each in lacking and file == each.file))
    left = [each for each in found.targets if each.folder not in built and each.file not in used]
    named = list(_named(made, {each.folder for each in left}))
    targets, delivered = ([each for each in named if each.is_chart is is_chart] for is_chart in (False, True))
    apart = [each for each in found.charts if each.folder not in {one.folder for one in named}]
    return found._replace(
        targets=tuple(sorted((*left, *targets), key=lambda each: (each.folder, each.name))),
        charts=tuple(sorted((*apart, *delivered), key=lambda each: (each.folder, each.name))),
        files=tuple(file for file in found.files if file not in used),
        used=found.used | used,
        judged=found.judged | used,
    )


def _lacks_it(target: Target) -> bool:
    """True where Flux writes a kustomization in place of one that it does not have."""
    own = target.delivery
    return bool(own and own.is_of_flux and own.generated and not own.original)


def _named(targets: Sequence[Target], others: Container[str]) -> Iterator[Target]:
    """The targets by names of their own: a folder that is applied several times, or has another target, is named with what
    applies it.
    """
    times = Counter(each.folder for each in targets)
    labels = Counter((each.folder, _label(each)) for each in targets)
    for each in targets:
        label = _label(each, with_file=labels[each.folder, _label(each)] > 1)
        name = each.folder if times[each.folder] == 1 and each.folder not in others else f"{each.folder} ({label})"
        yield each._replace(name=name, delivery=each.delivery and each.delivery._replace(label=label))


def _label(target: Target, *, with_file: bool = False) -> str:
    found = target.delivery
    parts = (found.name, found.cluster, found.file if with_file else "") if found else ()
    return ", ".join(filter(None, parts))


def target_of(folder: str, roots: Sequence[str]) -> Target | None:
    """The target that the kustomization in a folder is, if there is one. Without roots, its paths may lead anywhere."""
    graph = Graph(frozenset(), roots)
    root = graph.node(joined(".", folder))
    return _target(root, graph) if root else None


def _target(root: GraphNode, graph: Graph) -> Target:
    nodes, cycle = graph.closure(root.folder)
    inputs = {file for node in nodes for file in (*node.files, *graph.below(node.folders))}
    found = [node.problem for node in nodes if node.problem]
    worst = next((each for each in found if each.reason != "remote"), None)  # a build may be allowed to fetch
    problem = worst or _circle(cycle, graph) or _too_much(nodes) or next(iter(found), None)
    folders = tuple(node.folder for node in nodes)
    composes = any(node.composes for node in nodes)
    return Target(root.folder, root.folder, root.file, folders, tuple(sorted(inputs)), problem, composes=composes)


class _Below(frozenset[str]):
    """Folders, and what is below them."""

    def has(self, file: str) -> bool:
        at = file.rfind("/")
        while at > 0:
            if file[:at] in self:
                return True
            at = file.rfind("/", 0, at)
        return False


def _circle(cycle: tuple[str, ...], graph: Graph) -> Problem | None:
    if not cycle:
        return None
    start = cycle.index(min(cycle))
    folders = [*cycle[start:], *cycle[: start + 1]]
    node = graph.node(folders[0])
    return Problem(file=node.file if node else folders[0], reason="cycle", detail=" > ".join(folders))


def _too_much(nodes: Sequence[GraphNode]) -> Problem | None:
    """What there is to say where kustomize would read the same files very often, or go very deep.

    Ten kustomizations that each include the next one in two ways have it built a thousand times.
    """
    file, of_folder = nodes[0].file, {node.folder: node for node in nodes}
    times, depths = dict.fromkeys(of_folder, 0), dict.fromkeys(of_folder, 1)
    users = Counter(below for node in nodes for below in node.includes)
    times[nodes[0].folder], waiting = 1, [nodes[0]]
    while waiting:
        node = waiting.pop()
        for below in (below for below in node.includes if below in of_folder):
            times[below] += times[node.folder]
            depths[below] = max(depths[below], depths[node.folder] + 1)
            users[below] -= 1
            waiting += [of_folder[below]] if not users[below] else []
    if max(depths.values()) > DEEPEST:
        return Problem(file=file, reason="deep", detail=f"{DEEPEST}")
    if large := next((each for node in nodes for each in node.files if size_of(each) > LARGEST), ""):
        return Problem(file=file, reason="large", detail=large)
    if sum(times.values()) - len(nodes) > MOST_AGAIN:
        return Problem(file=file, reason="repeated", detail=f"kustomizations, more than {MOST_AGAIN:,} times")
    if _again(nodes, times) > MOST_BYTES_AGAIN:
        return Problem(file=file, reason="repeated", detail=f"files, more than {MOST_BYTES_AGAIN:,} bytes in all")
    return None


def _again(nodes: Sequence[GraphNode], times: Mapping[str, int]) -> int:
    """The bytes of files that are read once more."""
    counts: Counter[str] = Counter()
    for node in nodes:
        for file in node.files:
            counts[file] += times[node.folder]
    return sum((count - 1) * size_of(file) for file, count in counts.items() if count > 1)


def size_of(file: str) -> int:
    """The bytes of a file, 0 where it is not there."""
    try:
        return os.path.getsize(file)  # noqa: PTH202
    except OSError:
        return 0


def _name(file: str) -> str:
    return file.rpartition("/")[2]
