// Bundles the packages that components may import, once, into DIR/vendor: one script a bundle, and a table of every
// module's exports, so that a missing package or name is found before anything runs.
import * as esbuild from "esbuild";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

process.env.NODE_ENV = "production"; // the exports listed must be those of the builds that the pages get
const here = dirname(fileURLToPath(import.meta.url));
const vendor = join(here, "vendor");
// To ship another package: add it to package.json, and its modules to libraries.json.  A page gets a bundle only when
// its component imports one of the bundle's modules, or when the bundle is named under "always".
const { bundles } = JSON.parse(await readFile(join(here, "libraries.json"), "utf8"));
const owner = new Map(Object.entries(bundles).flatMap(([bundle, names]) => names.map((name) => [name, bundle])));

// A bundle finds the modules of another bundle in the registry instead of carrying its own copy (two Reacts fail).
const shareModules = (bundle) => ({
  name: "share-modules",
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path, kind }) =>
      kind !== "entry-point" && owner.has(path) && owner.get(path) !== bundle ? { path, namespace: "shared" } : null,
    );
    build.onLoad({ filter: /.*/, namespace: "shared" }, ({ path }) => ({
      contents: `module.exports = globalThis.$$modules[${JSON.stringify(path)}]`,
      loader: "js",
    }));
  },
});

async function bundle(name, modules) {
  const imports = modules.map((module, i) => `import * as m${i} from ${JSON.stringify(module)};`).join("\n");
  const entries = modules.map((module, i) => `${JSON.stringify(module)}: m${i}`).join(", ");
  await esbuild.build({
    stdin: {
      contents: `${imports}\nglobalThis.$$modules = Object.assign(globalThis.$$modules || {}, { ${entries} });`,
      resolveDir: here,
    },
    bundle: true,
    minify: true,
    format: "iife",
    platform: "browser",
    target: "es2022",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [shareModules(name)],
    outfile: join(vendor, `${name}.js`),
  });
}

async function exportsOf(module) {
  const names = new Set(Object.keys(await import(module)));
  return [module, [...names.add("default")].filter((name) => name !== "module.exports").sort()];
}

await mkdir(vendor, { recursive: true });
await Promise.all(Object.entries(bundles).map(([name, modules]) => bundle(name, modules)));
const table = Object.fromEntries(await Promise.all([...owner.keys()].map(exportsOf)));
await writeFile(join(vendor, "exports.json.new"), JSON.stringify(table));
await rename(join(vendor, "exports.json.new"), join(vendor, "exports.json")); // last: it says that vendor/ is whole
