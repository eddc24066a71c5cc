// The parts of the page, and which of them the address shows.

const data = loaded(JSON.parse(document.getElementById("data").textContent));
const nodes = graphOf(data);
document.documentElement.classList.add("scripted");
const RANK = { error: 0, warning: 1, info: 2 };

function sectionOf(view) {
  return document.querySelector(`[data-view="${view}"]`);
}

function vmLink(vm) {
  return [element("a", { href: vmAddress(vm) }, name(vm.name || "(no name)")), vm.template && element("small", {}, " in template ", name(vm.template))];
}

/** How many findings of each severity a VM has. */
function tally(vm) {
  const found = vm.findings.map(({ finding }) => finding.severity);
  return Object.keys(RANK).map((word) => [word, found.filter((each) => each === word).length]).filter(([, number]) => number);
}

function figure(key, head) {
  return { key, head, number: true, cell: (vm) => vm[key] && vm[key][1], value: (vm) => vm[key] && vm[key][0] };
}

function words(key, head) {
  return { key, head, cell: (vm) => vm[key] && name(vm[key]), value: (vm) => vm[key] };
}

const isOf = (key) => data.vms.some((vm) => vm[key]);
const TABLES = {
  vms: () => table({
    view: "vms",
    label: "VMs",
    rows: data.vms,
    above: (found, settings) => (found.length > 1 ? [element("p", {}, element("a", { href: address("all", "", settings) }, "All on one page, to print them"))] : []),
    text: (vm) => [vm.name, vm.namespace, vm.target, vm.cluster, vm.kind, vm.instancetype, vm.preference, vm.file, vm.template].join(" "),
    choices: [
      { key: "namespace", label: "Namespace", values: (vm) => [vm.namespace] },
      { key: "target", label: "Target", values: (vm) => [vm.target || ""] },
      { key: "kind", label: "Kind", values: (vm) => [vm.kind] },
      { key: "where", label: "Written in", values: (vm) => [vm.template ? "template" : "manifest"] },
      { key: "migration", label: "Live migration", values: (vm) => [vm.migration || "no pod"] },
      { key: "severity", label: "Findings", values: (vm) => (vm.findings.length ? tally(vm).map(([word]) => word) : ["without"]) },
      ...(data.since ? [{ key: "effect", label: "Change", values: (vm) => [!vm.change ? "unchanged" : vm.change.effect] }] : []),
    ],
    columns: [
      { key: "name", head: "Name", cell: vmLink, value: (vm) => vm.name },
      words("namespace", "Namespace"),
      ...(isOf("target") ? [words("target", "Target")] : []),
      words("instancetype", "Instancetype"),
      words("preference", "Preference"),
      figure("vcpus", "vCPUs"),
      figure("memory", "Memory"),
      figure("cpu", "CPU requested"),
      figure("request", "Memory requested"),
      figure("storage", "Storage"),
      ...(isOf("migration") ? [words("migration", "Live migration")] : []),
      { key: "findings", head: "Findings", cell: (vm) => tally(vm).map(([word, number]) => [severity(word, counted(number, word)), " "]), value: (vm) => -tally(vm).reduce((sum, [word, number]) => sum + number * 1000 ** (2 - RANK[word]), 0) },
      ...(data.since ? [{ key: "change", head: "Change", cell: (vm) => (!vm.change ? "" : vm.change.effect), value: (vm) => (!vm.change ? "" : vm.change.effect) }] : []),
    ],
  }),
  findings: () => table({
    view: "findings",
    label: "Findings",
    rows: data.findings,
    text: (finding) => [finding.severity, finding.rule, titleOfFinding(finding), finding.message, finding.file, ...finding.targets].join(" "),
    choices: [
      { key: "severity", label: "Severity", values: (finding) => [finding.severity] },
      { key: "rule", label: "Rule", values: (finding) => [finding.rule] },
      { key: "target", label: "Target", values: (finding) => (finding.targets.length ? finding.targets : [""]) },
      ...(data.since ? [{ key: "since", label: "Since the base", values: (finding) => [finding.isNew ? "new" : "known"] }] : []),
    ],
    columns: [
      { key: "severity", head: "Severity", cell: (finding) => severity(finding.severity), value: (finding) => RANK[finding.severity] },
      { key: "rule", head: "Rule", cell: (finding) => finding.rule, value: (finding) => finding.rule },
      { key: "object", head: "Object", cell: objectOf, value: titleOfFinding },
      { key: "message", head: "Finding", cell: (finding) => [finding.path ? [element("code", {}, finding.path), " "] : null, sentence(finding.message)], value: (finding) => finding.message },
      { key: "place", head: "Place", cell: (finding) => finding.file && name(`${finding.file}${finding.line ? `:${finding.line}` : ""}`), value: (finding) => finding.file },
      ...(data.since ? [{ key: "since", head: "Since the base", cell: (finding) => (finding.isNew ? "new" : "known"), value: (finding) => (finding.isNew ? 0 : 1) }] : []),
    ],
  }),
  graph: () => table({
    view: "graph",
    label: "Objects with references",
    above: overall,
    rows: nodes.filter((node) => node.uses.length || node.users.length),
    text: (node) => [node.kind, node.namespace, node.title, node.scope, node.state].join(" "),
    sort: "-users",
    choices: [
      { key: "kind", label: "Kind", values: (node) => [node.kind] },
      { key: "namespace", label: "Namespace", values: (node) => [node.namespace] },
      { key: "state", label: "Where it is", values: (node) => [STATES[node.state]] },
    ],
    columns: [
      { key: "title", head: "Object", cell: (node) => element("a", { href: address("graph", node.id) }, name(node.title)), value: (node) => node.title },
      { key: "kind", head: "Kind", cell: (node) => kindOf(node.kind), value: (node) => node.kind },
      { key: "namespace", head: "Namespace", cell: (node) => node.namespace && name(node.namespace), value: (node) => node.namespace },
      ...(nodes.some((node) => node.scope) ? [{ key: "scope", head: "Target or cluster", cell: (node) => node.scope && name(node.scope), value: (node) => node.scope }] : []),
      { key: "state", head: "Where it is", cell: (node) => STATES[node.state], value: (node) => node.state },
      { key: "users", head: "Used by", number: true, cell: (node) => String(node.users.length), value: (node) => node.users.length },
      { key: "uses", head: "Uses", number: true, cell: (node) => String(node.uses.length), value: (node) => node.uses.length },
    ],
  }),
  changes: () => table({
    view: "changes",
    label: "Changes",
    rows: data.changes,
    text: (change) => [change.name, change.effect, ...change.sentences].join(" "),
    choices: [{ key: "effect", label: "Effect", values: (change) => [change.effect] }],
    columns: [
      { key: "name", head: "VM", cell: (change) => (change.vm ? element("a", { href: vmAddress(change.vm) }, name(change.name)) : name(change.name)), value: (change) => change.name },
      { key: "effect", head: "Effect", cell: (change) => change.effect, value: (change) => change.effect },
      { key: "sentences", head: "What happens", cell: sentences, value: (change) => change.sentences[0] },
    ],
  }),
};

function titleOfFinding(finding) {
  const [vm] = finding.vms;
  return vm ? `${vm.kind} ${fullName(vm)}` : finding.object;
}

/** The object of a finding, as a link where the page has a part about it. A finding of several targets links to each. */
function objectOf(finding) {
  if (!finding.vms.length) return name(finding.object);
  const link = (vm, at) => [at ? ", " : "", element("a", { href: vmAddress(vm) }, name(at ? vm.target || fullName(vm) : titleOfFinding(finding)))];
  return [finding.vms.slice(0, 3).map(link), finding.vms.length > 3 ? ` and ${finding.vms.length - 3} more` : ""];
}

/** The content of the part with several VMs, to print or to search them. */
function allPart(vms, settings) {
  return [
    element("h1", { tabindex: "-1" }, counted(vms.length, "VM")),
    element("p", {}, element("a", { href: address("vms", "", settings) }, "The table")),
    vms.map((vm) => element("article", { class: "one" }, vmPart(data, vm, 0, true).flat(Infinity).filter(Boolean))),
  ];
}

const made = {};
const title = document.title;
let last = "";

/** Shows what the address says. */
function route() {
  const { view, rest, settings } = read(location.hash);
  if (view === "main") return document.getElementById("main").focus();
  const known = sectionOf(view) ? view : "overview";
  for (const section of document.querySelectorAll("[data-view]")) section.classList.toggle("shown", section === sectionOf(known));
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = read(link.hash).view === (["vm", "all"].includes(known) ? "vms" : known);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  show(known, rest, settings);
  document.title = `${sectionOf(known).querySelector("h1").textContent} \u2013 ${title}`;
  const here = `${known}/${rest}`;
  if (last && last !== here) {
    // As a new page does: begin at the top, and tell those who hear the page where they are.
    scrollTo(0, 0);
    sectionOf(known).querySelector("h1").focus({ preventScroll: true });
  }
  if (last !== here) sectionOf(known).querySelector("tr.named")?.scrollIntoView({ block: "center" });
  last = here;
}

function show(view, rest, settings) {
  const section = sectionOf(view);
  if (view === "vm") {
    const vm = data.vms.find((each) => each.id === rest);
    section.replaceChildren(...(vm ? vmPart(data, vm, Number(settings.get("line"))) : missing(`There is no VM ${rest} in this report.`)).flat(Infinity).filter(Boolean));
    return;
  }
  if (view === "all") {
    const { follow, wanted } = tableOf("vms");
    follow(settings);
    section.replaceChildren(...allPart(wanted(), Object.fromEntries(settings)).flat(Infinity));
    return;
  }
  if (view === "graph") {
    const node = nodes.find((each) => each.id === rest);
    if (!made.graph) made.graph = { part: [...section.childNodes] };
    if (node) {
      section.replaceChildren(...nodePart(node).flat(Infinity).filter(Boolean));
      return;
    }
    section.replaceChildren(...made.graph.part);
  }
  if (!(view in TABLES)) return;
  tableOf(view).follow(settings);
}

/** The table of a part, which is made when it is needed. */
function tableOf(view) {
  if (!made[view] || !made[view].follow) {
    const section = sectionOf(view);
    const found = TABLES[view]();
    section.append(found.part);
    made[view] = { ...found, part: [...section.childNodes] };
  }
  return made[view];
}

function missing(text) {
  return [element("h1", { tabindex: "-1" }, "Not found"), element("p", {}, name(text))];
}

// The theme is kept where the browser lets a file keep something.
function themed(word) {
  if (word) document.documentElement.dataset.theme = word;
  else delete document.documentElement.dataset.theme;
}
const theme = document.getElementById("theme");
const KEPT = "kubevirt-render-theme";
try {
  theme.value = localStorage.getItem(KEPT) || "";
} catch {
  theme.value = "";
}
themed(theme.value);
theme.addEventListener("change", () => {
  themed(theme.value);
  try {
    localStorage.setItem(KEPT, theme.value);
  } catch {
    // it holds until the page is closed
  }
});

addEventListener("hashchange", route);
route();
performance.mark("interactive");
