// Tables that sort and filter. Their state is in the address.

const MOST_ROWS = 500; // that are shown until one asks for all: more make the page slow

/**
 * A table with its filters, in a part of the page.
 *
 * `columns`: `key`, `head`, `cell(row)` for what is shown, and `value(row)`, a number or text by which rows are sorted.
 * `choices`: filters with few values: `key`, `label`, and `values(row)`, the words of a row. `text(row)`: what the free
 * filter searches. `view` is the name of the part in addresses. `above` makes what stands above the table, of the rows that
 * the filters leave and of the settings of the address.
 */
function table({ view, label, rows, columns, choices = [], text, sort = "", above = () => [] }) {
  const texts = rows.map((row) => text(row).toLowerCase());
  const state = { q: "", sort, all: false };
  const search = element("input", { type: "search", name: "q", autocomplete: "off", spellcheck: "false", on: { input: changed } });
  const selects = choices
    .map((choice) => ({ ...choice, words: [...new Set(rows.flatMap(choice.values))].sort() }))
    .filter((choice) => choice.words.length > 1)
    .map((choice) => ({ ...choice, select: select(choice) }));
  const status = element("p", { role: "status", class: "count" });
  const heads = columns.map((column) =>
    element("th", { scope: "col", class: column.number && "number" }, element("button", { type: "button", on: { click: () => sorted(column) } }, column.head)),
  );
  const body = element("tbody");
  const picture = element("div");
  const more = element("button", { type: "button", class: "more", hidden: true, on: { click: () => { state.all = true; show(); } } }, "Show all");
  const part = element(
    "div",
    {},
    element(
      "div",
      { class: "filters", role: "search", "aria-label": `Filter: ${label}` },
      element("label", {}, "Filter", search),
      selects.map((each) => element("label", {}, each.label, each.select)),
      status,
    ),
    picture,
    element("div", { class: "scroll" }, element("table", { class: "cards sortable", "aria-label": label }, element("thead", {}, element("tr", {}, heads)), body)),
    more,
  );

  function select(choice) {
    const words = choice.words.map((word) => element("option", { value: word }, word || "none"));
    return element("select", { on: { change: changed } }, element("option", { value: "" }, "all"), words);
  }

  function changed() {
    state.q = search.value;
    state.all = false;
    show();
    remember(view, "", settings());
  }

  function settings() {
    const chosen = Object.fromEntries(selects.map((each) => [each.key, each.select.value]));
    return { q: state.q, ...chosen, sort: state.sort === sort ? "" : state.sort };
  }

  function sorted(column) {
    state.sort = state.sort === column.key ? `-${column.key}` : column.key;
    show();
    remember(view, "", settings());
  }

  /** The rows that the filters leave, in order. */
  function wanted() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = selects.filter((each) => each.select.value);
    const left = rows.filter(
      (row, at) => words.every((word) => texts[at].includes(word)) && chosen.every((each) => each.values(row).includes(each.select.value)),
    );
    const key = state.sort.replace(/^-/, "");
    const column = columns.find((each) => each.key === key);
    if (!column) return left;
    const sign = state.sort.startsWith("-") ? -1 : 1;
    const value = new Map(left.map((row) => [row, column.value(row)]));
    return left.sort((one, other) => lacks(value.get(one)) - lacks(value.get(other)) || sign * order(value.get(one), value.get(other)));
  }

  function show() {
    const found = wanted();
    const shown = state.all ? found : found.slice(0, MOST_ROWS);
    body.replaceChildren(...shown.map(line));
    picture.replaceChildren(...above(found, settings()));
    more.hidden = shown.length === found.length;
    more.textContent = `Show all ${found.length.toLocaleString("en")}`;
    status.textContent = found.length === rows.length ? counted(rows.length, "row") : `${found.length.toLocaleString("en")} of ${counted(rows.length, "row")}`;
    columns.forEach((column, at) => {
      const key = state.sort.replace(/^-/, "");
      const direction = key !== column.key ? null : state.sort.startsWith("-") ? "descending" : "ascending";
      if (direction) heads[at].setAttribute("aria-sort", direction);
      else heads[at].removeAttribute("aria-sort");
    });
  }

  function line(row) {
    return element(
      "tr",
      {},
      columns.map((column, at) => {
        const cell = column.cell(row);
        const empty = cell === null || cell === undefined || cell === "" || cell.length === 0;
        const attributes = { class: [column.number && "number", empty && "empty"].filter(Boolean).join(" ") || null, "data-head": column.head };
        return at ? element("td", attributes, cell) : element("th", { ...attributes, scope: "row" }, cell);
      }),
    );
  }

  /** Shows what an address says. */
  function follow(given) {
    state.q = given.get("q") || "";
    state.sort = given.get("sort") || sort;
    search.value = state.q;
    for (const each of selects) each.select.value = each.words.includes(given.get(each.key)) ? given.get(each.key) : "";
    show();
  }

  return { part, follow, wanted };
}

/** True where a row has no value. Such rows come last, whatever the order is. */
function lacks(value) {
  return value === undefined || value === null || value === "";
}

/** The order of two values: numbers by size, texts as people sort them. */
const COLLATOR = new Intl.Collator("en", { numeric: true });
function order(one, other) {
  return typeof one === "number" && typeof other === "number" ? one - other : COLLATOR.compare(one, other);
}
