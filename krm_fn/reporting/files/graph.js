// The graph of references. One object in the middle: what uses it to the left, what it uses to the right. Each box is a link to
// its own graph, so that one follows references by clicks or by the keyboard, and goes back as in any page.

const MOST_BOXES = 30; // of a column
const MOST_DRAWN = 12; // rows of the table
const BOX = { width: 240, height: 44, gap: 12, between: 90 };
const STATES = { bundle: "in the input", catalogue: "in the catalogue", made: "made by another object", elsewhere: "not in the input" };

/** Nodes with their edges, both ways. The first ones are the VMs. */
function graphOf(data) {
  const node = (number, about) => ({ ...about, number, id: pathOf(about.scope, about.kind, about.namespace, about.title), uses: [], users: [] });
  const scoped = data.nodes.some((each) => each.scope);
  const ofVms = data.vms.map((vm, number) => node(number, { kind: vm.kind, namespace: vm.namespace, title: vm.name, state: "bundle", file: vm.file, scope: scoped ? vm.cluster || vm.target : "", vm }));
  const nodes = [...ofVms, ...data.nodes.map((each, at) => node(data.vms.length + at, each))];
  for (const [from, to, role] of data.edges) {
    nodes[from].uses.push({ node: nodes[to], role });
    nodes[to].users.push({ node: nodes[from], role });
  }
  for (const each of ofVms) each.vm.node = each;
  return nodes;
}

function titleOf(node) {
  return [node.namespace, node.title].filter(Boolean).join("/");
}

/** The content of the part about one object. */
function nodePart(node) {
  const users = once(node.users);
  const uses = once(node.uses);
  const further = once(uses.flatMap((each) => each.node.uses)).filter((each) => each.node !== node && !uses.some((use) => use.node === each.node));
  const columns = [users, [{ node, role: "" }], uses, further].filter((column) => column.length);
  return [
    element("p", {}, element("a", { href: "#graph" }, "All references")),
    element("h1", { tabindex: "-1" }, element("span", { class: "kind" }, kindOf(node.kind)), " ", name(titleOf(node))),
    element(
      "p",
      {},
      STATES[node.state],
      node.scope ? [" of ", name(node.scope)] : null,
      node.file ? [": ", name(node.file)] : null,
      node.vm ? [" · ", element("a", { href: vmAddress(node.vm) }, "YAML, sources and pod")] : null,
    ),
    draw(columns, node),
    list("Used by", users),
    list("Uses", uses),
  ];
}

/** A drawing of the first of some objects, of what uses them and of what they use. VMs are to the left. */
function overall(found) {
  if (!found.length) return [];
  const chosen = found.slice(0, MOST_DRAWN);
  const around = inTurn([...chosen.map((node) => node.users), ...chosen.map((node) => node.uses)]);
  const columns = [];
  for (const node of new Set([...chosen, ...around])) {
    const at = node.vm ? 0 : depth(node);
    columns[at] = columns[at] || [];
    columns[at].push({ node, role: node.users.length ? `used by ${node.users.length.toLocaleString("en")}` : "" });
  }
  const rest = found.length - chosen.length;
  return [
    element("p", { class: "hint" }, `Choose an object to see its references.${rest ? ` The first ${MOST_DRAWN} rows of the table are drawn; filter it to see others.` : ""}`),
    draw(columns.filter(Boolean), null, MOST_DRAWN + 4),
  ];
}

/** How far an object is from the VMs that use it; what uses itself in the end stays in the last column. */
function depth(node, most = 3) {
  if (node.vm || most === 0) return 0;
  return 1 + Math.max(0, ...node.users.slice(0, MOST_BOXES).map((user) => depth(user.node, most - 1)));
}

/** The objects of several lists of references, the first of each, then the second of each, and so on. */
function inTurn(lists) {
  const found = new Set();
  const longest = Math.max(0, ...lists.map((each) => each.length));
  for (let at = 0; at < longest; at += 1) for (const each of lists) if (at < each.length) found.add(each[at].node);
  return [...found];
}

/** References to the same object as one, with all roles. */
function once(references) {
  const found = new Map();
  for (const { node, role } of references) {
    const known = found.get(node);
    if (known) known.roles.add(role);
    else found.set(node, { node, roles: new Set([role]) });
  }
  return [...found.values()].map(({ node, roles }) => ({ node, role: [...roles].join(", ") }));
}

function list(head, references) {
  if (!references.length) return null;
  const entry = ({ node, role }) => element("li", {}, element("a", { href: address("graph", node.id) }, name(titleOf(node))), " ", element("span", { class: "kind" }, kindOf(node.kind)), " ", role, node.state === "elsewhere" ? ` (${STATES.elsewhere})` : "");
  const box = element("ul", { class: "plain references" }, references.map(entry));
  return [element("h2", {}, `${head} (${references.length.toLocaleString("en")})`), box];
}

/** A drawing of columns of boxes, at most so many in each, with the edges between them. */
function draw(columns, middle, most = MOST_BOXES) {
  const places = new Map();
  const shown = columns.map((column) => column.slice(0, most));
  const rows = Math.max(...shown.map((column, at) => column.length + (columns[at].length > column.length ? 1 : 0)));
  const height = rows * (BOX.height + BOX.gap);
  const width = shown.length * BOX.width + (shown.length - 1) * BOX.between;
  const boxes = [];
  shown.forEach((column, at) => {
    const left = columns[at].length - column.length;
    const top = (height - (column.length + (left ? 1 : 0)) * (BOX.height + BOX.gap)) / 2;
    const x = at * (BOX.width + BOX.between);
    column.forEach(({ node, role }, row) => {
      const y = top + row * (BOX.height + BOX.gap) + BOX.gap / 2;
      places.set(node, { x, y });
      boxes.push(box(node, role, x, y, node === middle));
    });
    if (left) boxes.push(drawing("text", { class: "rest", x: x + 12, y: top + column.length * (BOX.height + BOX.gap) + 26 }, `and ${left.toLocaleString("en")} more`));
  });
  const lines = [];
  for (const [node, from] of places) {
    for (const { node: used, role } of node.uses) {
      const to = places.get(used);
      if (to && to.x > from.x) lines.push(edge(from, to, role));
    }
  }
  const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Graph of references" }, lines, boxes);
  return element("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": "Graph of references, scrolls" }, svg);
}

function box(node, role, x, y, isMiddle) {
  const about = `${node.kind} ${titleOf(node)}${role ? `, ${role}` : ""}, ${STATES[node.state]}${node.scope ? ` of ${node.scope}` : ""}`;
  const below = [role, shortKind(node.kind), node.scope].filter(Boolean).join(" · ");
  return drawing(
    "a",
    { href: address("graph", node.id), class: `box ${node.state}${isMiddle ? " middle" : ""}`, "aria-current": isMiddle && "true" },
    drawing("title", {}, about),
    drawing("rect", { x, y, width: BOX.width, height: BOX.height, rx: 6 }),
    // A drawing inside of the box cuts what is wider than it.
    drawing(
      "svg",
      { x: x + 12, y, width: BOX.width - 20, height: BOX.height },
      drawing("text", { class: "title", y: 18 }, cut(titleOf(node), 28)),
      drawing("text", { class: "kind", y: 34 }, cut(below, 34)),
    ),
  );
}

function shortKind(kind) {
  return kind.replace(/^VirtualMachine(?=.)/, "");
}

function edge(from, to, role) {
  const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + BOX.height / 2, to.x, to.y + BOX.height / 2];
  const bend = (x2 - x1) / 2;
  return drawing("path", { class: "edge", d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}` }, drawing("title", {}, role));
}
