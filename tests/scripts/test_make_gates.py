"""The feature gates of a release, read from its sources in each of the forms that they have had."""

from __future__ import annotations

from pathlib import Path

import make_gates
import pytest
from cloning import check, clone
from upstream import package_releases

NAMED = """\
package virtconfig

const (
	// DownwardMetrics shows metrics.
	DownwardMetricsFeatureGate = "DownwardMetrics"
	NonRoot                    = "NonRoot"
	PSA                        = "PSA"
)
"""
LISTED = """
var deprecatedFeatureGates = [...]string{
	NonRoot,
	PSA,
}
"""
DEPRECATED = """\
package deprecation

const (
	GA         = "General Availability"
	Deprecated = "Deprecated"
)

const PasstMessage = "Passt is deprecated."

const (
	PSA       = "PSA" // GA
	PasstGate = "Passt"
)

var featureGates = [...]FeatureGate{
	{Name: PSA, State: GA},
	{Name: PasstGate, State: Deprecated, Message: PasstMessage, VmiSpecUsed: passtApiUsed},
}
"""
ACTIVE = """\
package featuregate

const (
	// Alpha: v1.7.0
	// Beta: v1.8.0
	ImageVolume = "ImageVolume"
	Root        = "Root"
)

func init() {
	RegisterFeatureGate(FeatureGate{Name: ImageVolume, State: Beta})
	RegisterFeatureGate(FeatureGate{Name: Root, State: Alpha})
}
"""
INACTIVE = """\
package featuregate

const (
	PasstGate      = "Passt"
	WorkaroundGate = "Workaround"
)

func init() {
	RegisterFeatureGate(FeatureGate{Name: PasstGate, State: Discontinued, Message: PasstMessage})
	RegisterFeatureGate(FeatureGate{Name: WorkaroundGate, State: Deprecated, Message: fmt.Sprintf(
		"it is deprecated")})
}
"""
CONFIG = make_gates.CONFIG


@pytest.mark.parametrize(
    ("files", "states"),
    [
        pytest.param(
            {"feature-gates.go": NAMED + LISTED},
            {"DownwardMetrics": "alpha", "NonRoot": "GA", "PSA": "GA"},
            id="1.0: a list of those that are always on",
        ),
        pytest.param(
            {"feature-gates.go": NAMED, "deprecation/feature-gates.go": DEPRECATED},
            {"DownwardMetrics": "alpha", "NonRoot": "alpha", "PSA": "GA", "Passt": "deprecated"},
            id="1.2: states of those that are not alpha",
        ),
        pytest.param(
            {
                "feature-gates.go": "package virtconfig\n",
                "featuregate/active.go": ACTIVE,
                "featuregate/inactive.go": INACTIVE,
                "featuregate/active_test.go": "RegisterFeatureGate(FeatureGate{Name: Root, State: GA})\n",
            },
            {"ImageVolume": "beta", "Root": "alpha", "Passt": "discontinued", "Workaround": "deprecated"},
            id="1.5: states of all",
        ),
    ],
)
def test_gates_are_read_in_each_form(files: dict[str, str], states: dict[str, str], tmp_path: Path) -> None:
    source = clone(tmp_path, {"v1.5.0": {f"{CONFIG}/{name}": text for name, text in files.items()}})
    assert make_gates.read(source, (1, 5, 0)) == states


@pytest.mark.parametrize("entry", ["{Name: Root, State: Locked}", "{Name: Strange, State: Alpha}"])
def test_a_gate_in_a_form_that_is_not_known_is_one_line_of_error(entry: str, tmp_path: Path) -> None:
    files = {f"{CONFIG}/feature-gates.go": NAMED, f"{CONFIG}/featuregate/active.go": ACTIVE + entry}
    clone(tmp_path, {"v1.9.0": files})
    done = check("make_gates", "--source", str(tmp_path), "--release", "1.9.0")
    name, state = entry.removeprefix("{Name: ").removesuffix("}").split(", State: ")
    states = "Alpha, Beta, GA, Deprecated, Discontinued"
    message = f"KubeVirt 1.9.0 registers {name} as {state}; expected a constant as one of {states}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


@pytest.mark.parametrize(
    ("states", "row"),
    [
        (("alpha", "alpha", "alpha", "alpha"), '    "A": ((ALPHA, (1, 4)),),'),
        (("", "alpha", "alpha", "GA"), '    "A": ((ALPHA, (1, 4, 1)), (GA, (1, 6))),'),
        (("beta", "beta", "", ""), '    "A": ((BETA, (1, 4)), ("", (1, 5))),'),
        (("", "", "deprecated", "discontinued"), '    "A": ((DEPRECATED, (1, 5)), (DISCONTINUED, (1, 6))),'),
    ],
)
def test_a_row_has_the_release_that_brought_each_state(states: tuple[str, ...], row: str) -> None:
    releases = dict(zip(((1, 4, 0), (1, 4, 1), (1, 5, 0), (1, 6, 0)), ({"A": state} for state in states), strict=True))
    assert make_gates.row("A", releases) == row


def test_the_table_comes_out_as_it_went_in() -> None:
    text = make_gates.FILE.read_text(encoding="utf-8")
    assert make_gates.make(text, {version: make_gates.of_table(version) for version in package_releases()}) == text


def test_a_release_that_is_made_again_replaces_all_that_the_table_says_of_it() -> None:
    text = make_gates.FILE.read_text(encoding="utf-8")
    releases = {version: make_gates.of_table(version) for version in package_releases()}
    spoilt = make_gates.make(text, releases | {(1, 6, 0): {"Snapshot": "GA", "Strange": "alpha"}})
    assert '    "Strange": ((ALPHA, (1, 6)), ("", (1, 6, 1))),\n' in spoilt
    assert make_gates.make(spoilt, releases) == text
