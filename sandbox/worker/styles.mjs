// Tailwind's style sheet for the class names that stand in a component.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { compile } from "tailwindcss";

const sheet = await readFile(createRequire(import.meta.url).resolve("tailwindcss/index.css"), "utf8");
const CACHED = 256;
const cache = new Map();

/**
 * @param {string} code the component
 * @param {string[]} texts its string literals and names
 * @returns {Promise<string>} Tailwind's base styles, and a rule for each class name among the words of `texts`
 */
export async function styles(code, texts) {
  const words = /class/i.test(code) ? new Set(texts.flatMap((text) => text.split(/\s+/)).filter(isPlausible)) : new Set();
  const candidates = [...words].sort();
  const key = candidates.join(" ");
  if (!cache.has(key)) {
    if (cache.size >= CACHED) cache.delete(cache.keys().next().value);
    // A compiler remembers every class it has seen: a new one a component keeps a style sheet free of its neighbours.
    cache.set(key, (await compile(sheet)).build(candidates));
  }
  return cache.get(key);
}

const isPlausible = (word) => word.length < 200 && /^[-a-z0-9[!*@_]/.test(word) && !/[<>]|:$/.test(word.replace(/\[.*?\]/g, ""));
