// The part of the page about one VM: its figures, its rendered YAML with the source of each value, its pod.

// What gives a value, the letter at its line, and what the legend says.
const SOURCES = {
  vm: ["V", "the VM"],
  instancetype: ["I", "instancetype"],
  preference: ["P", "preference"],
  preset: ["S", "preset"],
  configuration: ["C", "configuration of the cluster"],
  patch: ["J", "JSON patch of the config"],
  default: ["D", "KubeVirt's default"],
};

/** The name of a VM as its namespace and name, with its target where there are several. */
function fullName(vm) {
  return [vm.namespace, vm.name].filter(Boolean).join("/");
}

function vmAddress(vm, line) {
  return address("vm", vm.id, { line });
}

/**
 * The content of the part about a VM. `line` is the number of the line that the address names, from 1. `still`: the VM is one
 * of several, and its lines can't be chosen.
 */
function vmPart(data, vm, line, still = false) {
  const { findings } = vm;
  return [
    element("h1", { tabindex: "-1" }, element("span", { class: "kind" }, kindOf(vm.kind)), " ", name(fullName(vm))),
    facts(vm),
    vm.template && element("p", { class: "note" }, "The VM is in a template. Parameters have their default values, and the VM is in no sum."),
    vm.error && element("p", { class: "note" }, "The VM can't be rendered; the findings say why. The YAML is as it is written."),
    findingsOf(data, findings),
    changeOf(data, vm),
    element("h2", {}, vm.origins.length ? "Rendered YAML" : "YAML"),
    listing(data, vm, findings, line, still),
    podOf(vm),
  ];
}

function facts(vm) {
  const rows = [
    ["Target", vm.target && name(vm.target)],
    ["Cluster", vm.cluster && name(vm.cluster)],
    ["Template", vm.template && name(vm.template)],
    ["File", vm.file && name(vm.file)],
    ["KubeVirt", vm.release],
    ["Instancetype", vm.instancetype && name(vm.instancetype)],
    ["Preference", vm.preference && name(vm.preference)],
    ["Machines", vm.copies > 0 && String(vm.copies)],
    ["vCPUs", vm.vcpus && vm.vcpus[1]],
    ["Guest memory", vm.memory && vm.memory[1]],
    ["Live migration", vm.migration && [vm.migration, vm.obstacle && ": ", sentence(vm.obstacle)]],
    ["References", !vm.template && element("a", { href: address("graph", vm.node.id) }, "show in the graph")],
  ];
  const shown = rows.filter(([, value]) => value);
  return element("dl", { class: "facts" }, shown.map(([head, value]) => element("div", {}, element("dt", {}, head), element("dd", {}, value))));
}

function findingsOf(data, findings) {
  if (!findings.length) return null;
  const entry = ({ finding }) => element("li", {}, severity(finding.severity), " ", data.since && finding.isNew ? element("strong", {}, "new ") : null, sentence(finding.message), " ", element("span", { class: "rule" }, finding.rule));
  return [element("h2", {}, "Findings"), element("ul", { class: "plain" }, findings.map(entry))];
}

function changeOf(data, vm) {
  return vm.change && [element("h2", {}, `Change since ${data.since}`), sentences(vm.change)];
}

/** The headline of a change, and why and what differs. */
function sentences(change) {
  const [first, ...rest] = change.sentences;
  return element("div", { class: "change" }, element("p", {}, element("strong", {}, sentence(first))), element("ul", { class: "plain" }, rest.map((text) => element("li", { class: text.startsWith(" ") && "below" }, sentence(text.trim())))));
}

/** The lines of YAML as a grid that arrows move in, and beside it what is said of the line that has the focus or the mouse. */
function listing(data, vm, findings, wanted, still) {
  const panel = element("div", { class: "source", role: "status", "aria-label": "Source of the value" }, element("p", { class: "hint" }, "Point at a line, choose it, or move with the arrow keys, to see where its value comes from."));
  const rows = [];
  const grid = element("table", { class: "yaml", role: still ? "table" : "grid", "aria-label": `YAML of ${fullName(vm)}` });
  const body = element("tbody", { role: "rowgroup" });
  const above = findings.filter(({ at }) => at < 0);
  body.append(...above.map(({ finding }) => row(noteCells(finding), finding.severity, () => noteOf(finding))));
  vm.lines.forEach((number, at) => {
    const [text, path] = data.lines[number];
    const origin = originOf(vm, at);
    body.append(row(lineCells(at, text, origin), origin ? `from-${origin.kind}` : "", () => sourceOf(data.paths[path], text, origin), at + 1));
    for (const { finding } of findings.filter((each) => each.at === at)) body.append(row(noteCells(finding), finding.severity, () => noteOf(finding)));
  });
  grid.append(body);
  if (still) return element("div", {}, vm.origins.length ? legend(vm) : null, grid);
  const focused = rows.find((each) => each.line === wanted) || rows[0];
  if (focused) focused.element.tabIndex = 0;

  function row(cells, kind, about, line = 0) {
    const made = element("tr", { role: "row", tabindex: still ? null : "-1", class: kind }, cells);
    if (still) return made;
    const own = { element: made, about, line };
    rows.push(own);
    made.addEventListener("mouseenter", () => panel.replaceChildren(...about()));
    made.addEventListener("focus", () => {
      for (const each of rows) each.element.tabIndex = each === own ? 0 : -1;
      panel.replaceChildren(...about());
      if (line) remember("vm", vm.id, { line });
    });
    return made;
  }

  grid.addEventListener("keydown", (event) => {
    const now = rows.findIndex((each) => each.element === document.activeElement);
    const steps = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + 15, PageUp: now - 15, Home: 0, End: rows.length - 1 };
    if (now < 0 || !(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    rows[Math.max(0, Math.min(rows.length - 1, steps[event.key]))].element.focus();
  });
  // A click gives a row the focus in browsers that do not focus rows.
  grid.addEventListener("click", (event) => event.target.closest("tr")?.focus());
  if (wanted && focused && focused.line === wanted) {
    focused.element.classList.add("named");
    panel.replaceChildren(...focused.about());
  }
  return vm.origins.length ? element("div", { class: "listing" }, element("div", {}, legend(vm), grid), panel) : grid;
}

/** What gives the value of a line, null for a line without a value. */
function originOf(vm, at) {
  const origin = vm.origins[at];
  if (!origin) return null;
  const place = vm.file ? `${vm.file}${vm.at[at] ? `:${vm.at[at]}` : ""}` : "";
  if (!origin.text) return { ...origin, of: fullName(vm), text: place, short: "VM" };
  return { ...origin, short: origin.kind === "vm" ? "VM" : `${origin.kind} ${origin.of}` };
}

function lineCells(at, text, origin) {
  const [letter, word] = origin ? SOURCES[origin.kind] : ["", ""];
  return [
    element("td", { role: "gridcell", class: "at" }, String(at + 1)),
    element("td", { role: "gridcell", class: "letter" }, letter && element("abbr", { title: word }, letter)),
    element("td", { role: "gridcell", class: "text" }, element("code", {}, text)),
    element("td", { role: "gridcell", class: "origin" }, origin ? sentence(origin.short) : ""),
  ];
}

function noteCells(finding) {
  return element("td", { role: "gridcell", class: "finding", colspan: "4" }, severity(finding.severity), " ", sentence(finding.message), " ", element("span", { class: "rule" }, finding.rule));
}

function sourceOf(path, text, origin) {
  return [
    element("p", { class: "path" }, name(path)),
    element("p", {}, element("code", {}, text.trim().replace(/^- /, ""))),
    origin ? element("p", {}, element("span", { class: `chip from-${origin.kind}` }, SOURCES[origin.kind][1]), " ", element("strong", {}, name(origin.of)), " ", sentence(origin.text)) : element("p", { class: "hint" }, "The line has no value of its own."),
    origin && origin.notes.length ? element("ul", {}, origin.notes.map((note) => element("li", {}, sentence(note)))) : "",
  ];
}

function noteOf(finding) {
  const place = finding.file ? `${finding.file}${finding.line ? `:${finding.line}` : ""}` : "";
  return [element("p", {}, severity(finding.severity), " ", finding.rule), element("p", {}, sentence(finding.message)), element("p", { class: "path" }, name(finding.path || ""), " ", name(place))];
}

function legend(vm) {
  const kinds = new Set(vm.origins.map((origin) => origin && origin.kind));
  const entries = Object.entries(SOURCES).filter(([kind]) => kinds.has(kind)).map(([kind, [letter, word]]) => element("li", {}, element("span", { class: `chip from-${kind}` }, letter), " ", word));
  return element("ul", { class: "legend", "aria-label": "Letters at the lines" }, entries);
}

function podOf(vm) {
  const { rows = [], containers = [], why = [] } = vm.pod;
  if (!rows.length && !why.length && !vm.claims.length) return null;
  const claims = vm.claims.map(([claim, kind, size, of]) => [name(claim), kind, size || "unknown", name(of || "the cluster's default")]);
  return [
    element("h2", {}, "Pod"),
    why.map((text) => element("p", { class: "note" }, sentence(text))),
    rows.length ? element("dl", { class: "facts wide" }, rows.map(([head, text]) => element("div", {}, element("dt", {}, head), element("dd", {}, sentence(text))))) : null,
    containers.length ? plainTable("Containers", ["Container", "Sort", "Requests", "Limits"], containers.map(([container, ...rest]) => [name(container), ...rest])) : null,
    claims.length ? [element("h3", {}, "Storage"), plainTable("Storage", ["Claim", "From", "Size", "Storage class"], claims)] : null,
  ];
}
