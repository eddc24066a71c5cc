"use strict";

// Elements of the page. All texts of users pass through here, and become text: nothing in this page parses HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`on`) and children. Attributes that are false or null are left out. */
function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for a part of a drawing. */
function drawing(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(key, value === true ? "" : value);
    }
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

/** A text of a user. Its direction does not change the text around it, and a long path breaks behind its marks. */
function name(text) {
  const parts = text.length > LONG ? text.split(/(?<=[/.:_-])/) : [text];
  return element("bdi", {}, parts.map((part, at) => (at ? [element("wbr"), part] : part)));
}
const LONG = 16;

/** A sentence with names of users. */
function sentence(text) {
  return element("bdi", {}, text);
}

/** A kind, which may break before its last words. */
function kindOf(text) {
  return text.split(/(?<=VirtualMachine|Cluster|Volume|Attachment|Controller)(?=.)/).map((part, at) => (at ? [element("wbr"), part] : part));
}

/** A word with a colour for how severe something is. The word says it, too, for those who see no colour. */
function severity(word, text = word) {
  return element("span", { class: `severity ${word}` }, text);
}

/** `1 error`, `2 errors`; `info` has no plural. */
function counted(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 || word === "info" ? "" : "s"}`;
}

/** A table of texts with a head. */
function plainTable(label, heads, rows) {
  const head = element("tr", {}, heads.map((text) => element("th", { scope: "col" }, text)));
  const cells = (row) => row.map((text, at) => (at ? element("td", { "data-head": heads[at] }, text) : element("th", { scope: "row" }, text)));
  return element(
    "table",
    { class: "cards", "aria-label": label },
    element("thead", {}, head),
    element("tbody", {}, rows.map((row) => element("tr", {}, cells(row)))),
  );
}
