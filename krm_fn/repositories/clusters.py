"""The settings of each target of a run: those of its config files, of the cluster that it belongs to, and of the flags.

What decides, from the most important on: flags, the config nearest to the target, its cluster, the config at the root of the
repository. The last two count beside the nearest one only where the config at the root names clusters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn import config
from krm_fn.base.errors import ConfigError, UsageError
from krm_fn.base.external import External, Externals
from krm_fn.base.globs import TOO_MUCH, Globs
from krm_fn.base.paths import dotted, steps
from krm_fn.base.value import Value
from krm_fn.base.work import SpentError
from krm_fn.config import repository
from krm_fn.config.places import located
from krm_fn.config.repository import ClusterSection, RepositoryConfig, Section
from krm_fn.findings.finding import Finding
from krm_fn.findings.results import NOT_BUILT
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import config_files
from krm_fn.rules import registry
from krm_fn.rules.facts.inputs import RepositoryFacts, UnmatchedGlob
from krm_fn.sources import policy_files
from krm_fn.sources.files import is_within
from krm_fn.sources.files import repository as repository_of

if TYPE_CHECKING:
    from krm_fn.yamlio import StreamText
Key = tuple[str, str, str]


class TargetSettings(Value):
    """How one target is built and judged. `cluster` is the name of its cluster, "" where it belongs to none.

    `file` is the config nearest to the target, as messages name it; "" where there is none.
    `helm`: Helm charts are built. `rendered`: a pipeline renders what is in git. `stated` is the config as it is written,
    before a command makes of it the `config` to judge with. `variables` are values that deliveries take from outside git.
    """

    config: Config
    cluster: str = ""
    external: tuple[External, ...] = ()
    build_flags: tuple[str, ...] = ()
    file: str = ""
    helm: bool = False
    rendered: bool = False
    stated: Config = Config()
    variables: tuple[tuple[str, str], ...] = ()

    @cached_property
    def externals(self) -> tuple[Externals, ...]:
        """What is external, to look objects up in."""
        return (Externals(self.external),) if self.external else ()


class ConfigFile(Value):
    """A config file that was read. Its globs are relative to `folder`. `policy_paths`: see `policy_files.paths`.

    `exclude` are the globs of its section, `of_clusters` those that `cluster_globs` names.
    """

    file: str
    folder: str
    text: StreamText
    config: RepositoryConfig
    exclude: Globs
    of_clusters: Globs
    cluster_globs: tuple[tuple[int, str, str], ...]  # the number of a cluster, a key of it, and one of the key's globs
    policy_paths: tuple[str, ...] = ()

    def relative(self, path: str) -> str:
        """A path from the file's folder on, with forward slashes; it starts with `..` where it is not below the folder."""
        return Path(os.path.relpath(path, self.folder)).as_posix()

    def covering(self, globs: Globs, path: str, key: str) -> frozenset[int]:
        """The numbers of the globs, those of a key, that cover a path of `relative`. Raises: ConfigError."""
        try:
            return globs.covering(path)
        except SpentError:
            raise self.error(TOO_MUCH, key) from None

    def place(self, path: str) -> tuple[int, int]:
        """Line and column of a value by its path."""
        return self.text.place(0, steps(path))

    def error(self, message: str, path: str) -> ConfigError:
        """The error of a value of the file."""
        line, column = self.place(path)
        return ConfigError(message, path=path, file=self.file, line=line, column=column)


def as_it_is(given: Config) -> Config:
    """The config without a change."""
    return given


def validating(given: Config) -> Config:
    """The config to judge with where nothing is written."""
    return given.but(mode="validate")


class Configs:
    """The configs of one run; each file is read once.

    `paths` are the paths that the run was given. `file` is the config that a flag names, which is then the only one. `flags`
    lays the values of flags over a config, `exclude` are globs of a flag, relative to this folder, `build_flags` flags for
    kustomize beside those of the configs. `isolated`: the repository's own files do not count. `trusted`: who runs this names
    `file`; otherwise a file of the repository does.
    """

    def __init__(
        self,
        paths: Iterable[str] = (),
        *,
        file: str | None = None,
        isolated: bool = False,
        flags: Callable[[Config], Config] = as_it_is,
        exclude: Sequence[str] = (),
        build_flags: Sequence[str] = (),
        trusted: bool = True,
    ) -> None:
        self._tops = tuple(os.path.abspath("." if path == "-" else path) for path in paths)  # noqa: PTH100
        self._found = config_files.ConfigFiles(self._tops)
        self._named, self._isolated, self._flags = file, isolated, flags
        self._exclude, self._here = Globs(exclude), str(Path.cwd())
        self._build_flags, self._trusted = tuple(build_flags), trusted and bool(file)
        self._read: dict[Path, ConfigFile] = {}
        self._files: dict[str, tuple[ConfigFile, ...]] = {}
        self._settings: dict[Key, TargetSettings] = {}
        self._roots: dict[str, ConfigFile] = {}
        self._matched: set[tuple[str, str, str]] = set()

    def clusters_at(self, target: str) -> tuple[str, ...]:
        """The names of the clusters that the config at the root of a target's repository knows."""
        root = self._root(target, self._of(target))
        return tuple(each.name for each in root.config.clusters) if root else ()

    def settings_for(self, target: str, named: str = "") -> TargetSettings:
        """The settings of a target, by its folder or file; `named` is the cluster that it is for, whatever its folder is.

        Raises: ConfigError for a config that is wrong, and where the target belongs to two clusters.
        """
        files = self._of(target)
        own = files[0] if files else None
        root = self._root(target, files)
        if own and own.config.clusters and own is not root:
            raise own.error("clusters stand only in the config at the root of the repository; move them there", "spec.clusters")
        cluster = next((each for each in root.config.clusters if each.name == named), None) if root and named else None
        if root and cluster:
            self._matched.update((root.file, cluster.name, glob) for glob in cluster.targets)
        cluster = cluster or (self._cluster(root, target) if root else None)
        key = own.file if own else "", root.file if root else "", cluster.name if cluster else ""
        if key not in self._settings:
            self._settings[key] = self._combined(own, root, cluster)
        return self._settings[key]

    def excludes(self, path: str) -> bool:
        """True for a file or folder that is not read, by the configs in its folder and above, or by a flag.

        Raises: ConfigError.
        """
        try:
            if self._exclude and self._exclude.covering(Path(os.path.relpath(path, self._here)).as_posix()):
                return True
        except SpentError:
            raise UsageError(f"--exclude: {TOO_MUCH}") from None
        files = self._of(os.path.dirname(os.path.abspath(path)))  # noqa: PTH100, PTH120
        return any(file.covering(file.exclude, file.relative(path), "spec.exclude") for file in files if file.config.exclude)

    @property
    def policy_paths(self) -> tuple[str, ...]:
        """The resolved names of the files and folders of policies that the configs name which were read so far."""
        return tuple(dict.fromkeys(path for each in self._read.values() for path in each.policy_paths))

    def unmatched(self) -> tuple[UnmatchedGlob, ...]:
        """The globs of clusters that matched none of the targets that `settings_for` was called with.

        Only a run over the whole folder of a config can tell.
        """
        roots = [root for root in self._roots.values() if any(Path(root.folder).is_relative_to(top) for top in self._tops)]
        return tuple(
            UnmatchedGlob(glob=glob, cluster=cluster.name, path=path, file=root.file, line=line, column=column)
            for root in roots
            for number, cluster in enumerate(root.config.clusters)
            for index, glob in enumerate(cluster.targets)
            if (root.file, cluster.name, glob) not in self._matched
            for path in [("spec", "clusters", number, "targets", index)]
            for line, column in [root.place(dotted(path))]
        )

    def _of(self, target: str) -> tuple[ConfigFile, ...]:
        """The configs in the folder of a target and above, the nearest first."""
        if target not in self._files:
            found = [Path(self._named)] if self._named else [] if self._isolated else None
            if found is None:
                found = self._found.of(target)
            self._files[target] = tuple(map(self._opened, found))
        return self._files[target]

    def _opened(self, file: Path) -> ConfigFile:
        if file not in self._read:
            name = config_files.shown(file)
            text, value = config_files.read(name)
            try:
                stated = repository.read(value)
                if not self._trusted:
                    repository.refuse_powers(stated)
                read = policy_files.with_files(stated, name, anywhere=self._trusted)
            except ConfigError as error:
                if error.file:  # that of a policy
                    raise
                raise located(error, name, lambda path: text.place(0, path, key=True)) from None
            paths = tuple(policy_files.paths(stated, name))
            of_clusters = tuple(
                (number, key, glob)
                for number, cluster in enumerate(read.clusters)
                for key, globs in (("targets", cluster.targets), ("exclude", cluster.exclude))
                for glob in globs
            )
            self._read[file] = ConfigFile(
                file=name,
                folder=self._folder(file),
                text=text,
                config=read,
                exclude=Globs(read.exclude),
                of_clusters=Globs(glob for _, _, glob in of_clusters),
                cluster_globs=of_clusters,
                policy_paths=paths,
            )
        return self._read[file]

    def _folder(self, file: Path) -> str:
        """The folder that the globs of a config start from: its own; this one for a file out of the repository."""
        folder = os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120
        root = repository_of(self._here)
        inside = is_within(folder, [root]) or not os.path.lexists(os.path.join(root, ".git"))  # noqa: PTH118
        return folder if inside else self._here

    def _root(self, target: str, files: tuple[ConfigFile, ...]) -> ConfigFile | None:
        """The config at the root of the target's repository, where it names clusters."""
        if not files or not files[-1].config.clusters:
            return None
        at_root = self._named or files[-1].folder == self._found.folders(target)[-1]
        return self._roots.setdefault(files[-1].file, files[-1]) if at_root else None

    def _cluster(self, root: ConfigFile, target: str) -> ClusterSection | None:
        """The cluster that a target belongs to. Raises: ConfigError where there are two."""
        path = root.relative(target)
        if path.startswith("../") or path == "..":
            return None
        covering = [root.cluster_globs[each] for each in sorted(root.covering(root.of_clusters, path, "spec.clusters"))]
        left_out = {number for number, key, _ in covering if key == "exclude"}
        matching = [(number, glob) for number, key, glob in covering if key == "targets" and number not in left_out]
        clusters = root.config.clusters
        self._matched.update((root.file, clusters[number].name, glob) for number, glob in matching)
        found = list(dict.fromkeys(number for number, _ in matching))
        if len(found) > 1:
            names = f"{clusters[found[0]].name} and {clusters[found[1]].name}"
            fix = "change the targets of one of them, or add an exclude"
            raise root.error(f"{path} belongs to two clusters, {names}; {fix}", f"spec.clusters[{found[1]}].targets")
        return clusters[found[0]] if found else None

    def _combined(self, own: ConfigFile | None, root: ConfigFile | None, cluster: ClusterSection | None) -> TargetSettings:
        above: list[Section] = [root.config] if root else []
        sections = [*above, *([cluster] if cluster else []), *([own.config] if own and own is not root else [])]
        stated: dict[str, Any] = {}
        for section in sections:
            stated = config.laid_over(stated, section.stated)
        if not self._trusted:
            stated = _without_power(stated)
        of_configs = next((each.build_flags for each in reversed(sections) if each.build_flags is not None), ())
        laid = self._flags(Config(**stated))
        # the first entry that fits a claim counts, so the nearest section comes first
        storage = (each for section in reversed(sections) for each in (*section.claims, *section.profiles))
        return TargetSettings(
            config=laid,
            cluster=cluster.name if cluster else "",
            external=tuple(dict.fromkeys((*(each for section in sections for each in section.external), *storage))),
            build_flags=tuple(dict.fromkeys((*of_configs, *self._build_flags))),
            file=own.file if own else "",
            helm=next((each.helm for each in reversed(sections) if each.helm is not None), False),
            rendered=next((each.rendered for each in reversed(sections) if each.rendered is not None), False),
            stated=laid,
            variables=tuple({name: value for section in sections for name, value in section.variables}.items()),
        )


def _without_power(stated: dict[str, Any]) -> dict[str, Any]:
    """What a file of a repository under review may state: it has no code loaded, and hides nothing that is not judged."""
    severity = {rule: level for rule, level in stated.get("severity", {}).items() if rule not in NOT_BUILT}
    packages = {"barred_packages": stated["rule_packages"]} if "rule_packages" in stated else {}
    kept = {key: value for key, value in stated.items() if key not in ("severity", "rule_packages")}
    return {**kept, **packages, **({"severity": severity} if severity else {})}


def findings(unmatched: tuple[UnmatchedGlob, ...], severity: Mapping[str, str], release: Release) -> Iterator[Finding]:
    """What there is to say of globs that match nothing, at their places."""
    facts = RepositoryFacts(release=release, unmatched=unmatched)
    for finding, each in zip(registry.judge_bundle(facts, severity, "repository"), unmatched, strict=False):
        yield finding.but(file=each.file, line=each.line, column=each.column)
