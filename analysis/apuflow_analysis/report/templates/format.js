"use strict";
// Numbers as text, elements, and how columns are read. Content only ever enters the page as text.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function drawn(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function valueAt(column, row) {
  return "constant" in column ? column.constant : column.values[row];
}

function sizeAt(column, row) {
  return column.sizes && !("constant" in column) ? column.sizes[row] : valueAt(column, row);
}

function format(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return group(String(value));
  if (size >= 1e-3 && size < 1e6) return group(Number(value.toPrecision(4)).toString());
  return value.toExponential(3);
}

function group(digits) {
  const [whole, fraction] = digits.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return fraction === undefined ? grouped : grouped + "." + fraction;
}

function unique(values) {
  return [...new Set(values)];
}

function indices(count) {
  return Array.from({ length: count }, (_, index) => index);
}

function compare(left, right) {
  if (left === right) return 0;
  if (left === null || left === undefined) return 1;
  if (right === null || right === undefined) return -1;
  if (typeof left === "number" && typeof right === "number") return left - right;
  return String(left).localeCompare(String(right), "en", { numeric: true });
}

let fields = 0;

function labelled(text, control) {
  control.id = control.id || "field-" + (fields += 1);
  return element("div", { class: "field" }, element("label", { for: control.id }, text), control);
}

function selectOf(choices, chosen, changed) {
  const node = element("select", { change: () => changed(node.value) });
  for (const [value, text] of choices) node.append(element("option", { value: value, selected: value === chosen }, text));
  return node;
}
