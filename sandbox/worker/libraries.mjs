// What components may import, as `build.mjs` left it in vendor/.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const read = (...path) => JSON.parse(readFileSync(join(here, ...path), "utf8"));
const { always, bundles, collections } = read("libraries.json");
const bundleOf = new Map(Object.entries(bundles).flatMap(([bundle, names]) => names.map((name) => [name, bundle])));
const classes = read("vendor", "classes.json");
const icons = new Map(); // read when first asked for: megabytes

/** @type {Map<string, Set<string>>} the names that each module exports */
export const available = new Map(
  Object.entries(read("vendor", "exports.json")).map(([module, names]) => [module, new Set(names)]),
);

/**
 * The code of one export of a collection (a package of a thousand icons that need nothing of each other), or undefined
 * where the package has to be in the page as a whole.
 * @returns {string | undefined} an expression in which `require` finds what is always there
 */
export function codeOf(module, name) {
  if (!collections.includes(module)) return undefined;
  if (!icons.has(module)) icons.set(module, read("vendor", `${bundleOf.get(module)}.icons.json`));
  const { code, names } = icons.get(module);
  return Object.hasOwn(names, name) ? code[names[name]] : undefined;
}

/** The bundles that a page needs for these modules. */
export const bundlesFor = (modules) => [...new Set([...always, ...modules.map((module) => bundleOf.get(module))])];

/** The class names that our own components among these modules use. */
export const classesOf = (modules) => modules.flatMap((module) => classes[module] ?? []);

/** Whether a page with these modules is one of shadcn's style, with its theme. */
export const isThemed = (modules) => modules.some((module) => module.startsWith("@/"));
