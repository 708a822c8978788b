"use strict";

// Shared by the scripts of all pages. Markup is only ever built here, from text: nothing is parsed as HTML.

/** An element with properties (a `data` or `style` object is merged) and children; null children are left out. */
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "data") Object.assign(node.dataset, value);
    else if (key === "style") for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else if (key in node && !key.startsWith("aria-")) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

/** An SVG element with attributes. */
function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const byId = (id) => document.getElementById(id);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Characters that show as nothing, or turn the text around them, as something that can be seen. */
function visible(text) {
  return text
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => `⟨U+${hex(c)}⟩`)
    .replace(/\p{Surrogate}/gu, (c) => `⟨U+${hex(c)}⟩`);
}

const hex = (char) => char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");

/** A number for people: at most three significant digits, a true minus sign. */
function pretty(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  let text;
  if (size < 1e-3 || size >= 1e6) text = value.toExponential(1).replace("e+", "e");
  else if (size >= 100) text = Math.round(value).toLocaleString("en");
  else text = String(Number(value.toPrecision(3)));
  return text.replaceAll("-", "−");
}

/** The word for `n` of something: "page", "pages". */
const plural = (n, one, many = `${one}s`) => (n === 1 ? one : many);

/** The data of the page: base64 of deflated JSON. */
async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

/** Draw the page of its data as soon as it is there, or say that it could not be drawn. */
function startWith(draw) {
  document.addEventListener("DOMContentLoaded", async () => {
    try {
      draw(await unpack(byId("payload").textContent));
      document.documentElement.dataset.ready = "yes";
    } catch (error) {
      byId("failure").hidden = false;
      byId("failure").textContent = `This page could not be drawn (${error.message}). It needs a browser of 2023 or later.`;
      throw error;
    }
  });
}
