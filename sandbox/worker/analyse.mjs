// Looks at compiled JavaScript: is there a component in it, are its imports there, and how is it run as a plain script.
import { getLineInfo, Parser } from "acorn";
import * as walk from "acorn-walk";
import { wordsIn } from "./words.mjs";

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const CLASSES = new Set(["ClassDeclaration", "ClassExpression"]);
const JSX_RUNTIME = /^react\/jsx(-dev)?-runtime$/;
const STYLE_SHEET = /^(\.{1,2}\/|@\/).*\.(css|scss|sass|less)$|^tailwindcss(\/.*)?\.css$/;
const capitalised = (name) => /^\p{Lu}/u.test(name ?? "");
const named = (node) => node.name ?? node.value; // an Identifier, or a string literal used as a name
const ADDRESS = /^(https?:|data:|blob:|\/\/)/i;
const FILE = /^([./~\\]|file:|[a-z]:[\\/]|@\/(?!components\/ui(\/|$)))/i;

// Looks at every node as soon as it is parsed, which saves a walk over all of them.
class Reader extends Parser {
  calls = [];
  words = [];
  lazy = []; // [node, module]: imports of a name where code runs
  finishNode(node, type) {
    super.finishNode(node, type);
    if (type === "CallExpression") this.calls.push(node);
    const word = wordsIn(node);
    if (word !== undefined) this.words.push(word);
    const module = lazyModule(node);
    if (module !== undefined) this.lazy.push([node, module]);
    return node;
  }
}

/**
 * @param {string} js plain ECMAScript modules code, without JSX and types
 * @param {Map<string, Set<string>>} available the names that each module exports
 * @param {(module: string, name: string) => string | undefined} codeOf the code of an export that needs no bundle
 * @returns {{script?: string, reason?: string, problems: {message: string, at: {line: number, column: number}}[],
 *            modules: string[], bundled: string[], words: string[]}} `modules` are those imported, and `bundled` those
 *   of them that have to be in the page.  `script` is a function expression (require, module, exports) that
 *   returns a function: running that runs the module's code and returns what there is to mount (null: it mounts itself).
 *   Its second line is the first of `js` and no column moves.  `reason` says why there is no component.
 */
export function analyse(js, available, codeOf) {
  const reader = new Reader({ ecmaVersion: "latest", sourceType: "module" }, js);
  const program = reader.parse();
  const { words } = reader;
  const jsxNames = new Set();
  const domNames = new Set();
  const imports = []; // [local name, module or undefined, its name there]
  const modules = new Set();
  const wholes = new Set(); // modules that code could ask for any name
  const problems = [];
  const edits = []; // [start, end, text]: same length, so that positions stay
  const blank = (start, end, text = "") => edits.push([start, end, text.padEnd(end - start)]);
  const problem = (node, message) => problems.push({ message, at: getLineInfo(js, node.start) });

  const take = (node, specifiers) => { // each [local name, imported name, its node]
    const module = node.source.value;
    if (STYLE_SHEET.test(module)) return specifiers.forEach(([local]) => imports.push([local]));
    if (!available.has(module)) return problem(node.source, missing(module));
    modules.add(module);
    for (const [local, imported, at] of specifiers) {
      if (imported === "*") wholes.add(module);
      else if (!available.get(module).has(imported))
        problem(at, `${JSON.stringify(module)} has no export ${JSON.stringify(imported)}`);
      if (local) imports.push([local, module, imported]);
      if (JSX_RUNTIME.test(module) || imported === "createElement") jsxNames.add(local);
      if (module.startsWith("react-dom")) domNames.add(local);
    }
  };

  const tops = []; // top-level declarations that can be a component: {name, node}
  let exported; // the name of the default export; esbuild writes all exports as `export{name as default}`
  const exportedNames = [];
  for (const node of program.body) {
    if (node.type === "ImportDeclaration") {
      take(node, node.specifiers.map((s) => [s.local.name, importedName(s), s]));
      blank(node.start, node.end);
    } else if (node.type === "ExportAllDeclaration") {
      take(node, []);
      blank(node.start, node.end);
    } else if (node.type === "ExportNamedDeclaration") {
      if (node.source) take(node, node.specifiers.map((s) => [null, named(s.local), s]));
      for (const s of node.specifiers) {
        if (named(s.exported) !== "default") exportedNames.push(named(s.local));
        else if (!node.source) exported = named(s.local);
      }
      blank(node.start, node.end);
    } else {
      tops.push(...declared(node));
    }
  }

  const jsxAt = reader.calls.filter((node) => isJsx(node, jsxNames)).map((node) => node.start);
  for (const [node, module] of reader.lazy) {
    if (!available.has(module)) problem(node.source ?? node.arguments[0], missing(module));
    modules.add(module);
    wholes.add(module);
    if (node.type === "ImportExpression") blank(node.start, node.start + 6, "import"); // refused when it runs
  }

  const hasJsx = ({ start, end }) => jsxAt.some((at) => start <= at && at < end);
  const mountsItself = domNames.size > 0 && program.body.some((node) => isMount(node, domNames));
  const stray = program.body.find((n) => n.type === "ExpressionStatement" && isJsx(n.expression, jsxNames));
  const exportedNode = tops.findLast((top) => top.name === exported)?.node;
  const choice = exported ?? only(tops, exportedNames, hasJsx, js);
  const shows = jsxAt.length > 0 || modules.has("react");
  let reason;
  if (stray) reason = "a tag stands at the top level, outside any component";
  else if (exportedNode && isText(exportedNode)) reason = "the default export is a text, not a component";
  else if (exported && !shows && !mountsItself && !(capitalised(exported) || exportedNode?.type === "ObjectExpression"))
    reason = "the default export is not a React component: nothing in the file makes an element";
  else if (!choice && !mountsItself) reason = "there is no React component in it";
  if (reason) return { reason, problems, modules: [...modules], bundled: [], words };

  const { bindings, bundled } = bound(imports, modules, wholes, codeOf);
  const result = mountsItself ? "null" : choice;
  const head = `(function(require,module,exports){return function(){"use strict";${bindings.join(";")};`;
  const script = `${head}\n${applied(js, edits)}\nreturn ${result}}})`;
  return { script, problems, modules: [...modules], bundled, words };
}

// `const b=require("m")["a"]`, or b's code in its place where none of the module's names needs the module as a whole.
function bound(imports, modules, wholes, codeOf) {
  const codes = imports.map(([, module, name]) => (module && !wholes.has(module) ? codeOf(module, name) : undefined));
  const apart = new Set([...modules].filter((module) => !wholes.has(module)));
  imports.forEach(([, module], i) => codes[i] ?? apart.delete(module));
  const bindings = imports.map(([local, module, name], i) => {
    if (apart.has(module)) return `const ${local}=${codes[i]}`;
    const source = `require(${JSON.stringify(module)})`;
    return `const ${local}=${!module ? "{}" : name === "*" ? source : `${source}[${JSON.stringify(name)}]`}`;
  });
  return { bindings, bundled: [...modules].filter((module) => !apart.has(module)) };
}

/** What is wrong with importing a module that is not there. */
function missing(module) {
  const name = JSON.stringify(module.length > 200 ? `${module.slice(0, 200)}…` : module);
  if (ADDRESS.test(module)) return `nothing can be imported from an address: ${name}`;
  return FILE.test(module) ? `there is no file ${name} beside a component` : `package ${name} is not available`;
}

function importedName(specifier) {
  if (specifier.type === "ImportNamespaceSpecifier") return "*";
  return specifier.type === "ImportDefaultSpecifier" ? "default" : named(specifier.imported);
}

function declared(node) {
  if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") return [{ name: node.id.name, node }];
  if (node.type !== "VariableDeclaration") return [];
  return node.declarations.filter((d) => d.id.type === "Identifier" && d.init).map((d) => ({ name: d.id.name, node: d.init }));
}

// The component of a file without a default export: the only one; else App; else the only exported one; else the last.
function only(tops, exportedNames, hasJsx, js) {
  const makes = ({ type }) => FUNCTIONS.has(type) || CLASSES.has(type) || type === "CallExpression";
  const components = tops.filter(({ name, node }) => capitalised(name) && makes(node) && hasJsx(node)).map((t) => t.name);
  if (components.includes("App")) return "App";
  const exported = components.filter((name) => exportedNames.includes(name));
  return exported.length ? exported.at(-1) : components.at(-1);
}

function isJsx(node, jsxNames) {
  if (node.type !== "CallExpression") return false;
  const callee = node.callee;
  if (callee.type === "Identifier") return jsxNames.has(callee.name);
  return callee.type === "MemberExpression" && callee.property.name === "createElement" && callee.object.name !== "document";
}

const isText = (node) =>
  (node.type === "Literal" && node.value !== null) || node.type === "TemplateLiteral" || node.type === "UnaryExpression";

// `require("m")` and `import("m")` of a name; a URL is left for the page to refuse.
function lazyModule(node) {
  const isRequire = node.type === "CallExpression" && node.callee.name === "require" && node.arguments.length === 1;
  const source = isRequire ? node.arguments[0] : node.type === "ImportExpression" ? node.source : undefined;
  const name = source?.type === "Literal" && typeof source.value === "string" ? source.value : undefined;
  return name !== undefined && !/^[a-z]+:/i.test(name) ? name : undefined;
}

function isMount(node, domNames) {
  if (node.type !== "ExpressionStatement" && node.type !== "VariableDeclaration") return false;
  let found = false;
  const visit = { CallExpression: ({ callee }) => (found ||= mounts(callee, domNames)) };
  walk.simple(node, visit, { ...walk.base, Function() {}, Class() {} });
  return found;
}

function mounts(callee, domNames) {
  if (callee.type === "Identifier") return domNames.has(callee.name) && /^(createRoot|hydrateRoot|render)$/.test(callee.name);
  if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return false;
  return domNames.has(callee.object.name) && /^(createRoot|hydrateRoot|render|hydrate)$/.test(callee.property.name);
}

function applied(js, edits) {
  let out = "";
  let at = 0;
  for (const [start, end, text] of edits.sort((a, b) => a[0] - b[0])) {
    out += js.slice(at, start) + text;
    at = end;
  }
  return out + js.slice(at);
}
