// The data of the page, as `krm_fn/reporting/data.py` writes it: numbers of tables become what is in the tables.

/** A path of an address: words with slashes between them. */
function pathOf(...words) {
  return words.filter(Boolean).map(encodeURIComponent).join("/");
}

const WORDS = ["kind", "namespace", "file", "release", "error", "instancetype", "preference", "target", "cluster", "template", "migration", "obstacle"];
const FIGURES = ["vcpus", "memory", "cpu", "request", "storage"];

/** The data with VMs, findings and changes that know each other. */
function loaded(data) {
  const { words, figures } = data;
  const origins = data.origins.map(([kind, of, text, notes]) => ({ kind: words[kind], of, text, notes }));
  data.findings = data.findings.map((finding, number) => ({
    path: "",
    object: "",
    ...finding,
    severity: words[finding.severity],
    rule: words[finding.rule],
    file: words[finding.file],
    targets: (finding.targets || []).map((target) => words[target]),
    vms: finding.vms || [],
    isNew: number < data.counting,
  }));
  data.vms.forEach((vm, number) => {
    for (const key of WORDS) vm[key] = words[vm[key] || 0];
    for (const key of FIGURES) if (key in vm) vm[key] = figures[vm[key]];
    vm.lines = vm.lines || linesLike(data.vms[vm.like].lines, vm.other);
    vm.origins = data.patterns[vm.origins || 0].map((origin) => (origin < 0 ? null : origins[origin]));
    vm.at = data.steps[vm.at || 0].map((step) => (step ? vm.first + step - 1 : 0));
    vm.pod = data.pods[vm.pod || 0];
    vm.claims = vm.claims || [];
    vm.findings = (vm.findings || []).map(([at, finding]) => ({ at, finding: data.findings[finding] }));
    vm.change = data.changes[vm.change];
    vm.number = number;
  });
  for (const finding of data.findings) finding.vms = finding.vms.map((number) => data.vms[number]);
  for (const change of data.changes) change.vm = data.vms[change.vm];
  identify(data.vms);
  data.nodes = data.nodes.map(([kind, namespace, title, state, file, scope]) => ({ kind: words[kind], namespace: words[namespace], title, state: words[state], file: words[file], scope: words[scope] }));
  data.edges = data.edges.map(([from, to, role]) => [from, to, words[role]]);
  return data;
}

/** The lines of a VM that has other ones at some places; `other` has places and lines in turn. */
function linesLike(lines, other) {
  const found = [...lines];
  for (let at = 0; at < other.length; at += 2) found[other[at]] = other[at + 1];
  return found;
}

/** Gives each VM the path of its address. Most are VirtualMachines, so only others name their kind. */
function identify(vms) {
  const taken = new Map();
  for (const vm of vms) {
    const id = pathOf(vm.kind === "VirtualMachine" ? "" : vm.kind, vm.target, vm.namespace, vm.name);
    const count = (taken.get(id) || 0) + 1;
    taken.set(id, count);
    vm.id = count > 1 ? `${id}~${count}` : id;
  }
}
