// The address says what the page shows: `#vms?q=db&sort=-cpu`, `#vm/shop/db?line=12`, `#graph/...`. So each state is a link.

/** What an address says: the view, the rest of its path, and its settings. */
function read(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const [view, ...rest] = path.split("/");
  return { view: view || "overview", rest: rest.join("/"), settings: new URLSearchParams(query) };
}

/** The address of a view. Settings without a value are left out. */
function address(view, rest = "", settings = {}) {
  const said = Object.entries(settings).filter(([, value]) => value);
  const query = new URLSearchParams(said).toString();
  return `#${view}${rest ? `/${rest}` : ""}${query ? `?${query}` : ""}`;
}

/** Writes the settings of what is shown into the address, without a step for the browser's history. */
function remember(view, rest, settings) {
  history.replaceState(null, "", address(view, rest, settings));
}
