// A long-lived compiler: one JSON request a line on stdin, one JSON answer a line on stdout (in any order, by id).
//   {id, op: "compile", code, language: "jsx" | "tsx" | null, render: boolean}
//     -> {id, status, diagnostics, ms}, and {language, script, bundles, css} where it is ok and to be rendered
//   {id, op: "trace", code, language, line, column} -> {id, line, column}   a place in `script`, as one in `code`
//   {id, op: "lint", code} -> {id, diagnostics}, or {id, failed}   what ESLint says (with --lint it is loaded at once)
// It ends when stdin does, or when whoever started it is gone.
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import * as esbuild from "esbuild";
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import { analyse } from "./analyse.mjs";
import { available, bundlesFor, classesOf, codeOf, isThemed } from "./libraries.mjs";
import { styles } from "./styles.mjs";

const AT_ONCE = 64; // esbuild parses one file while this thread looks at another
const OPTIONS = {
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  minifyWhitespace: true, // or deep nesting is answered with megabytes of indentation
  legalComments: "none",
  charset: "utf8",
  logLimit: 20,
  supported: { "top-level-await": false },
};

const transform = (code, loader, extra) =>
  esbuild.transform(code, { ...OPTIONS, loader, ...extra }).catch((error) => {
    if (!error.errors) throw error; // not about the code: the service is gone
    return { failed: true, errors: error.errors, warnings: error.warnings };
  });

async function compiled(code, language) {
  const first = await transform(code, language ?? "tsx");
  if (language || !first.failed) return [first, language ?? "tsx"];
  const second = await transform(code, "jsx");
  const further = (a, b) => (a?.line ?? 0) - (b?.line ?? 0) || (a?.column ?? 0) - (b?.column ?? 0);
  const better = !second.failed || further(second.errors[0]?.location, first.errors[0]?.location) > 0;
  return better ? [second, "jsx"] : [first, "tsx"];
}

// esbuild counts columns from 0 in UTF-8 bytes, and source maps in UTF-16 units; here they count from 1 in characters.
const columnOf = (before) => [...before].length + 1;
const place = ({ line, column, lineText }) => ({ line, column: columnOf(Buffer.from(lineText).subarray(0, column).toString()) });

const diagnostic = (severity) => ({ text, location }) => ({
  source: "esbuild",
  severity,
  ...(location ? place(location) : { line: 1, column: 1 }),
  message: text,
});

const linesOf = (code) => code.split(/\r\n|[\n\r\u2028\u2029]/);
const columnIn = (line, units) => columnOf(line?.slice(0, units) ?? "");

async function trace(code, language, places) {
  const { map } = await transform(code, language, { sourcemap: "external" });
  const tracer = new TraceMap(map);
  const lines = linesOf(code);
  return places.map((at) => {
    const { line, column } = originalPositionFor(tracer, at);
    return line === null ? { line: 1, column: 1 } : { line, column: columnIn(lines[line - 1], column) };
  });
}

async function linted({ code }) {
  const { lint } = await import("./lint.mjs");
  await new Promise(setImmediate); // nothing else happens while it is at work: let out what is known already
  try {
    const lines = linesOf(code);
    const said = lint(code).map((d) => ({ source: "eslint", ...d, column: columnIn(lines[d.line - 1], d.column - 1) }));
    return { diagnostics: said };
  } catch (error) {
    return { failed: String(error?.message ?? error).split("\n")[0].slice(0, 200) };
  }
}

async function compile({ code, language, render }) {
  const [result, loader] = await compiled(code, language);
  const warnings = result.warnings.map(diagnostic("warning"));
  if (result.failed)
    return { status: "compile_error", diagnostics: [...result.errors.map(diagnostic("fatal")), ...warnings] };
  let found;
  try {
    found = analyse(result.code, available, codeOf);
  } catch (error) {
    if (error instanceof RangeError) return refused("too_large", "nested too deep to be looked at");
    return refused("compile_error", `not a module that a browser could run: ${error.message}`);
  }
  if (found.reason) return refused("not_component", found.reason, warnings);
  if (found.problems.length) {
    const places = await trace(code, loader, found.problems.map((p) => p.at));
    const errors = found.problems.map((p, i) => ({ source: "imports", severity: "error", ...places[i], message: p.message }));
    return { status: "import_error", diagnostics: [...errors, ...warnings] };
  }
  if (!render) return { status: "ok", diagnostics: warnings };
  const { script, modules, bundled, words } = found;
  const css = await styles([...(/class/i.test(code) ? words : []), ...classesOf(modules)], isThemed(modules));
  return { status: "ok", diagnostics: warnings, language: loader, script, bundles: bundlesFor(bundled), css };
}

const refused = (status, message, more = []) => ({
  status,
  diagnostics: [{ source: "sandbox", severity: "error", line: 1, column: 1, message }, ...more],
});

async function answer(request) {
  const begun = performance.now();
  const { id, op, code, language, line, column } = request;
  let result;
  if (op === "trace") [result] = await trace(code, language, [{ line, column }]);
  else result = await (op === "lint" ? linted : compile)(request);
  return { id, ...result, ms: performance.now() - begun };
}

// A thread of its own: it also sees the parent go while this one is busy.
const watch = `const parent = process.ppid;
setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGKILL"), 500);`;
new Worker(watch, { eval: true }).unref();

// Once through everything before saying "ready": so the first component's time is its own.
await compile({ code: "export default () => <p className='p-1' />", language: "jsx", render: true });
if (process.argv.includes("--lint")) await linted({ code: "export default () => <p />" });
const requests = createInterface({ input: process.stdin, crlfDelay: Infinity });
const waiting = [];
let busy = 0;
requests.on("line", (line) => {
  waiting.push(line);
  if (busy < AT_ONCE) work();
});

// Answers that are there together are written together.
let said = "";
function say(result) {
  if (!said) setImmediate(flush);
  said += JSON.stringify(result) + "\n";
}

function flush() {
  process.stdout.write(said);
  said = "";
}

async function work() {
  busy++;
  try {
    while (waiting.length) say(await answer(JSON.parse(waiting.shift())));
  } catch (error) {
    process.stderr.write(`${error?.stack ?? error}\n`);
    process.exit(3); // whoever started this starts another
  }
  busy--;
}

requests.on("close", () => process.exit(0));
process.stdout.write(JSON.stringify({ id: -1, node: process.version, esbuild: esbuild.version }) + "\n");
