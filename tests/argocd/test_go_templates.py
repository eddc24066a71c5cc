"""Go templates as ApplicationSets have them. Expected values are those that Go and sprig document."""

import pytest

from krm_fn.argocd.sources import ArgoError
from krm_fn.argocd.templates import rendered
from krm_fn.base.work import Budget

GIVEN = {
    "name": "Web_App",
    "n": 3.0,
    "big": 1e6,
    "half": 0.5,
    "no": False,
    "empty": "",
    "list": ["a", "b", "c"],
    "map": {"b": "2", "a": "1"},
    "path": {"path": "apps/web", "segments": ["apps", "web"]},
}
TEMPLATES = {
    "no template": "no template",
    "{{.name}}": "Web_App",
    "{{ .path.path }}": "apps/web",
    "{{ $.name }}": "Web_App",
    "a {{- .n -}} b": "a3b",
    "{{/* a comment */}}x": "x",
    "{{.n}} {{.big}} {{.half}} {{.no}}": "3 1e+06 0.5 false",
    "{{.list}} {{.map}}": "[a b c] map[a:1 b:2]",
    '{{"quoted \\"text\\""}} {{`raw`}}': 'quoted "text" raw',
    "{{lower .name}} {{.name | upper}}": "web_app WEB_APP",
    '{{ .name | replace "_" "-" | lower }}': "web-app",
    '{{ default "x" .empty }} {{ default "x" .missing }} {{ .name | default "x" }}': "x x Web_App",
    '{{ trimPrefix "Web" .name }} {{ .name | trimSuffix "App" }}': "_App Web_",
    '{{ index .list 1 }} {{ index .map "a" }} {{ index .path.segments 0 }}': "b 1 apps",
    '{{ splitList "/" .path.path | last }} {{ (splitList "/" .path.path) | first }}': "web apps",
    '{{ join "-" .list }}': "a-b-c",
    '{{ (split "/" .path.path)._1 }}': "web",
    "{{ toString .n }} {{ quote .name }} {{ squote .n }}": "3 \"Web_App\" '3'",
    '{{ normalize .name }} {{ normalize "-A b." }}': "web-app a-b",
    '{{ slugify "Some & Name" }} {{ slugify 9 true "one two three" }}': "some-and-name one-two",
    '{{ ternary "yes" "no" .no }} {{ true | ternary "yes" "no" }}': "no yes",
    "{{if .no}}a{{else if .name}}b{{else}}c{{end}}": "b",
    "{{with .path}}{{.path}}{{end}}{{with .empty}}x{{else}}y{{end}}": "apps/weby",
    "{{range .list}}{{.}}{{end}}{{range .missing}}x{{else}}none{{end}}": "abcnone",
    "{{range $i, $each := .list}}{{$i}}{{$each}}{{end}}": "0a1b2c",
    "{{range $key, $value := .map}}{{$key}}={{$value}} {{end}}": "a=1 b=2 ",
    '{{range .list}}{{if eq . "b"}}{{continue}}{{end}}{{.}}{{end}}': "ac",
    '{{range .list}}{{if eq . "b"}}{{break}}{{end}}{{.}}{{end}}': "a",
    "{{$x := .n}}{{$x}}{{$x = 4}}{{$x}}": "34",
    '{{$x := "a"}}{{if true}}{{$x = "b"}}{{end}}{{$x}}': "b",
    "{{if and .name (not .no)}}a{{end}}{{if or .no .empty}}b{{end}}": "a",
    '{{if eq .name "x" "Web_App"}}a{{end}}{{if ne .n 3.0}}b{{end}}{{if gt (len .list) 2}}c{{end}}': "ac",
    '{{ printf "%s-%02d-%v" .name 7 .n }}': "Web_App-07-3",
    '{{ contains "App" .name }} {{ hasPrefix "web" (lower .name) }} {{ has "b" .list }}': "true true true",
    '{{ dig "path" "path" "x" . }} {{ dig "path" "no" "x" . }}': "apps/web x",
    '{{ get .map "a" }}{{ hasKey .map "c" }}': "1false",
    "{{ add 1 2 }} {{ sub 5 2 }} {{ mul 2 3 }} {{ div 7 2 }} {{ mod 7 2 }} {{ max 1 4 2 }} {{ int .n }}": "3 3 6 3 1 4 3",
    "{{ trunc 3 .name }}{{ trunc -3 .name }}": "WebApp",
    '{{ (dict "a" "b").a }} {{ list 1 2 | len }}': "b 2",
    '{{ toJson .map }} {{ fromJson "[1]" | first }}': '{"a":"1","b":"2"} 1',
    '{{ b64enc "ab" }} {{ b64dec "YWI=" }}': "YWI= ab",
    '{{ indent 2 "a\\nb" }}': "  a\n  b",
    '{{ coalesce .empty .missing "x" }}{{ empty .list }}': "xfalse",
    '{{ rest .list | join "," }}{{ initial .list }}': "b,c[a b]",
}


def of(template: str, *, strict: bool = False) -> str:
    return rendered(template, GIVEN, Budget(1_000_000), strict=strict)


@pytest.mark.parametrize(("template", "expected"), TEMPLATES.items(), ids=[*TEMPLATES])
def test_a_template_gives_what_go_gives(template: str, expected: str) -> None:
    assert of(template) == expected


WRONG = {
    "{{ .name": "a template has {{ without }}",
    "{{ if .name }}x": "a template has a block without its end",
    "{{ end }}": "a template uses end, which is not known here",
    "{{ (.name }}": "a template has a bracket that is not closed",
    '{{ getHostByName "a" }}': "a template uses the function getHostByName, which is not known here",
    '{{ env "HOME" }}': "a template uses the function env, which is not known here",
    "{{ .name.more }}": "a template takes .more of 'Web_App'",
    "{{ .missing.more }}": "a template takes .more of 'nothing'",
    "{{ index .list 9 }}": "a template calls index with '[a b c]', '9', which is no use of it",
    "{{ lower .n }}": "a template calls lower with '3', which is no use of it",
    "{{ $no }}": "a template uses $no, which it does not set",
    "{{ range .name }}{{ end }}": "a template can't go through 'Web_App'; expected a list or a map",
    '{{ template "a" }}': "a template uses template, which is not known here",
    "{{ lower trim }}": "a template calls trim with nothing, which is no use of it",
    "{{ break }}": "a template has break or continue outside of range",
    '{{ "a\\q" }}': 'a template has the text "a\\q", which can\'t be read',
    "{{ repeat 999999 .name }}": "a template calls repeat with '999999', 'Web_App', which is no use of it",
    "{{" + "(" * 200 + "1" + ")" * 200 + "}}": "a template has too many brackets in one another",
    "{{ if 1 }}" * 200 + "{{ end }}" * 200: "a template has too many blocks in one another",
}


@pytest.mark.parametrize(("template", "message"), WRONG.items(), ids=range(len(WRONG)))
def test_a_wrong_template_is_told_in_one_line(template: str, message: str) -> None:
    with pytest.raises(ArgoError) as error:
        of(template)
    assert error.value.message == message


def test_a_missing_key_is_an_error_where_the_options_say_so() -> None:
    with pytest.raises(ArgoError, match=r"takes \.missing, which the parameters lack"):
        of("{{ .missing }}", strict=True)
