// Tailwind's style sheet for the class names that stand in a component.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { compile } from "tailwindcss";

const sheet = await readFile(createRequire(import.meta.url).resolve("tailwindcss/index.css"), "utf8");
const CACHED = 256;
const cache = new Map(); // class names -> style sheet
const useless = new Set(); // words that are no class names: without them more components share a style sheet

/**
 * @param {string} code the component
 * @param {string[]} texts its string literals and names
 * @returns {Promise<string>} Tailwind's base styles, and a rule for each class name among the words of `texts`
 */
export async function styles(code, texts) {
  const words = /class/i.test(code) ? texts.flatMap((text) => text.split(/\s+/)).filter(isPlausible) : [];
  const candidates = [...new Set(words)].sort();
  const key = candidates.join(" ");
  if (cache.has(key)) return cache.get(key);
  // A compiler remembers every class it has seen: a new one a style sheet keeps components apart from each other.
  const css = (await compile(sheet)).build(candidates);
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value);
  cache.set(key, css);
  if (useless.size > 50_000) useless.clear();
  for (const word of candidates) if (/^[a-z][a-z0-9-]*$/.test(word) && !css.includes(`.${word}`)) useless.add(word);
  return css;
}

const isPlausible = (word) => word.length < 200 && /^[-a-z0-9[!*@]/.test(word) && /[a-z]/.test(word) && !useless.has(word);
