// Makes DIR/vendor of the packages that components may import: one script a bundle, the code of every icon, the class
// names of our own components, and a table of every module's exports, so that a missing package or name is found
// before anything runs.
import { parse } from "acorn";
import * as esbuild from "esbuild";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { wordsOf } from "./words.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const vendor = join(here, "vendor");
// To ship another package: add it to package.json, and its modules to libraries.json.  A page gets a bundle only when
// its component imports one of the bundle's modules, or when the bundle is named under "always".
const { always, bundles, collections } = JSON.parse(await readFile(join(here, "libraries.json"), "utf8"));
const shared = new Set(always.flatMap((name) => bundles[name]));

const OPTIONS = {
  bundle: true,
  minify: true,
  platform: "browser",
  target: "es2022",
  legalComments: "none",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  alias: { "@/components/ui": join(here, "ui"), "@/lib/utils": join(here, "ui", "utils.js") },
  absWorkingDir: here,
};

// What moves must stand still at its end in a screenshot: motion jumps there, by frames of the page's own clock and not
// by the browser's animations, and charts are drawn at once.
const ENDINGS = { "framer-motion": "m0.MotionGlobalConfig.skipAnimations = true;" };
const EDITS = [
  {
    file: /recharts\/es6\/animation\/(Javascript|CSSTransition)Animate\.js$/,
    from: "isActiveProp === 'auto' ? !Global.isSsr && !prefersReducedMotion : isActiveProp",
    to: "false",
  },
  {
    file: /motion-dom\/dist\/es\/animation\/waapi\/supports\/waapi\.mjs$/,
    from: 'Object.hasOwnProperty.call(Element.prototype, "animate")',
    to: "false",
  },
];

const standStill = {
  name: "stand-still",
  setup(build) {
    for (const { file, from, to } of EDITS)
      build.onLoad({ filter: file }, async ({ path }) => {
        const code = await readFile(path, "utf8");
        if (!code.includes(from)) throw new Error(`${path} no longer says ${from}: see EDITS in build.mjs`);
        return { contents: code.replace(from, to) };
      });
  },
};

// Every bundle finds React in the page instead of carrying its own copy (two Reacts fail).
const shareModules = {
  name: "share-modules",
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path, kind }) =>
      kind !== "entry-point" && shared.has(path) ? { path, namespace: "shared" } : null,
    );
    build.onLoad({ filter: /.*/, namespace: "shared" }, ({ path }) => ({
      contents: `module.exports = globalThis.$$modules[${JSON.stringify(path)}]`,
      loader: "js",
    }));
  },
};

async function bundle(name, modules) {
  const imports = modules.map((module, i) => `import * as m${i} from ${JSON.stringify(module)};`).join("\n");
  const entries = modules.map((module, i) => `${JSON.stringify(module)}: m${i}`).join(", ");
  const add = `globalThis.$$modules = Object.assign(globalThis.$$modules || {}, { ${entries} });`;
  await esbuild.build({
    ...OPTIONS,
    stdin: { contents: `${imports}\n${ENDINGS[name] ?? ""}\n${add}`, resolveDir: here },
    format: "iife",
    plugins: always.includes(name) ? [standStill] : [standStill, shareModules],
    outfile: join(vendor, `${name}.js`),
  });
}

/** The names that each module exports in a page: every bundle is run here, those that others need first. */
async function exportsOfAll() {
  for (const name of new Set([...always, ...Object.keys(bundles)]))
    (0, eval)(await readFile(join(vendor, `${name}.js`), "utf8"));
  const modules = Object.entries(globalThis.$$modules);
  return Object.fromEntries(modules.map(([module, exported]) => [module, Object.keys(exported).sort()]));
}

const parsed = (code) => parse(code, { ecmaVersion: "latest", sourceType: "module" });
const asModule = { ...OPTIONS, external: [...shared], format: "esm", outdir: vendor, write: false };

/** Writes vendor/BUNDLE.icons.json: the code of each icon of a collection, and for each name which of them it is. */
async function icons(module) {
  const names = await filesOf(module);
  const files = [...new Set(names.values())];
  const entryPoints = files.map((file, i) => ({ in: file, out: String(i) }));
  const { outputFiles } = await esbuild.build({ ...asModule, entryPoints });
  const code = [];
  for (const { path, text } of outputFiles) code[Number(path.match(/(\d+)\.js$/)[1])] = asExpression(text);
  const numbers = new Map(files.map((file, i) => [file, i]));
  const table = { code, names: Object.fromEntries([...names].map(([name, file]) => [name, numbers.get(file)])) };
  const owner = Object.keys(bundles).find((name) => bundles[name].includes(module));
  await writeFile(join(vendor, `${owner}.icons.json`), JSON.stringify(table));
}

// A collection's entry is a list of `export {default as NAME} from "FILE"`.
async function filesOf(module) {
  const { metafile } = await esbuild.build({ ...asModule, entryPoints: [module], metafile: true });
  const entry = resolve(here, Object.values(metafile.outputs)[0].entryPoint);
  const files = new Map();
  for (const node of parsed(await readFile(entry, "utf8")).body)
    for (const { local, exported } of (node.source && node.specifiers) ?? [])
      if (local?.name === "default") files.set(exported.name, join(dirname(entry), node.source.value));
  return files;
}

// `import{a as b}from"m";...;export{c as default}` as `(()=>{const b=require("m").a;...;return c})()`
function asExpression(module) {
  let body = "";
  let result;
  for (const node of parsed(module).body) {
    if (node.type === "ImportDeclaration")
      for (const { local, imported, type } of node.specifiers) {
        const name = type === "ImportDefaultSpecifier" ? "default" : imported?.name;
        body += `const ${local.name}=require(${node.source.raw})${name ? `.${name}` : ""};`;
      }
    else if (node.type === "ExportNamedDeclaration")
      result = node.specifiers.find((specifier) => specifier.exported.name === "default").local.name;
    else body += module.slice(node.start, node.end);
  }
  return `(()=>{${body};return ${result}})()`;
}

/** The words that can be class names in one of our own modules, and in what it imports of our own. */
async function classesOf(module) {
  const stdin = { contents: `export * from ${JSON.stringify(module)}`, resolveDir: here };
  const external = [...shared, "clsx", "tailwind-merge"];
  const { outputFiles } = await esbuild.build({ ...asModule, stdin, external });
  return [module, wordsOf(parsed(outputFiles[0].text))];
}

await mkdir(vendor, { recursive: true });
await Promise.all([
  ...Object.entries(bundles).map(([name, modules]) => bundle(name, modules)),
  ...collections.map(icons),
]);
const own = Object.values(bundles)
  .flat()
  .filter((module) => module.startsWith("@/components/"));
const classes = Object.fromEntries(await Promise.all(own.map(classesOf)));
await writeFile(join(vendor, "classes.json"), JSON.stringify(classes));
await writeFile(join(vendor, "exports.json.new"), JSON.stringify(await exportsOfAll()));
await rename(join(vendor, "exports.json.new"), join(vendor, "exports.json")); // last: it says that vendor/ is whole
