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

/** A name of a user. Its direction does not change the text around it. A long one breaks behind its marks, and is cut at last. */
function name(text) {
  const shown = cut(text, LONGEST);
  const parts = shown.length > LONG ? shown.split(/(?<=[/.:_-])/) : [shown];
  const long = parts.some((part) => part.length > LONG);
  const pieces = parts.map((part, at) => (at ? [element("wbr"), part] : part));
  return element("bdi", { class: long && "long", title: shown !== text && text }, pieces);
}
const LONG = 20;
const LONGEST = 300;

/** A text of at most so many letters. */
function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`;
}

/** A sentence with names of users. */
function sentence(text) {
  return element("bdi", { class: "long" }, text);
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
