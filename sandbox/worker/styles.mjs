// Tailwind's style sheet for the class names that stand in a component.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { compile } from "tailwindcss";

const base = await readFile(createRequire(import.meta.url).resolve("tailwindcss/index.css"), "utf8");
const theme = await readFile(new URL("ui/theme.css", import.meta.url), "utf8");
const CACHED = 256;

// `cache`: class names -> style sheet.  `useless`: words that name no class; without them more components share one.
const kind = (sheet) => ({ sheet, cache: new Map(), useless: new Set() });
const plain = kind(base);
const shadcn = kind(base + theme);

/**
 * @param {string[]} texts string literals and names that stand in the component and in what it imports
 * @param {boolean} themed with the colours by name that shadcn's components use
 * @returns {Promise<string>} Tailwind's base styles, and a rule for each class name among the words of `texts`
 */
export async function styles(texts, themed) {
  const { sheet, cache, useless } = themed ? shadcn : plain;
  const isPlausible = (word) =>
    word.length < 200 && /^[-a-z0-9[!*@]/.test(word) && /[a-z]/.test(word) && !useless.has(word);
  const candidates = [...new Set(texts.flatMap((text) => text.split(/\s+/)).filter(isPlausible))].sort();
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
