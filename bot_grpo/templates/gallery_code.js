// A component's code as lines with numbers, a little colour, and what was found on each line below it.

const WORDS = new Set(
  ("as async await break case catch class const continue default delete do else enum export extends false finally for from function " +
    "get if implements import in instanceof interface let new null of return set static super switch this throw true try type " +
    "typeof undefined var void while yield").split(" "),
);
// An apostrophe within a word and the slashes of an address are text.  No part can run away: each goes on to the end it has.
const TOKENS =
  /(?<comment>(?<!:)\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>"(?:[^"\\\n]|\\.)*"?|(?<!\w)'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\[\s\S])*`?)|(?<tag><\/?[A-Za-z][\w.]*|\/>)|(?<number>\b\d[\w.]*)|(?<word>[A-Za-z_$][\w$]*)/g;
const LINE_END = /\r\n|[\n\r\u2028\u2029]/;

/** [class, text] pairs that make up the code. */
function* tokens(code) {
  let at = 0;
  for (const { 0: text, index, groups } of code.matchAll(TOKENS)) {
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    if (kind === "word" && !WORDS.has(text)) continue;
    if (index > at) yield ["", code.slice(at, index)];
    yield [kind, text];
    at = index + text.length;
  }
  if (at < code.length) yield ["", code.slice(at)];
}

/** The code's lines, each a list of nodes; lines end where the compiler says that they do. */
function codeLines(code) {
  const lines = [[]];
  for (const [kind, text] of tokens(code)) {
    text.split(LINE_END).forEach((part, i) => {
      if (i) lines.push([]);
      if (part) lines.at(-1).push(kind ? el("span", { className: `t-${kind}`, textContent: visible(part) }) : visible(part));
    });
  }
  return lines;
}

/** What is said of a component's lines, by number: diagnostics, and the lines that a model judge marked. */
function remarks(row) {
  const found = new Map();
  const add = (line, remark) => found.set(line, [...(found.get(line) ?? []), remark]);
  for (const { line, column, severity, source, message } of row.diagnostics)
    add(line, { hard: severity !== "warning", label: severity, text: message, origin: `${source}, column ${column}` });
  for (const [kind, { lines }] of Object.entries(row.judges))
    for (const { line, impact, reason } of lines)
      add(line, { hard: true, label: String(impact).replace("-", "−"), text: reason, origin: `${kind} judge` });
  return found;
}

function codeView(row) {
  const found = remarks(row);
  const node = el("div", { className: "code numbered", role: "group", tabIndex: 0, "aria-label": "Code" });
  const lines = codeLines(row.code);
  lines.forEach((parts, i) => {
    const said = found.get(i + 1) ?? [];
    const flag = said.some(({ hard }) => hard) ? "line flagged" : said.length ? "line soft-flag" : "line";
    node.append(el("div", { className: flag, data: { n: i + 1 } }, el("span", { className: "text" }, parts)));
    node.append(...said.map(remark));
  });
  if (row.left) node.append(el("p", { className: "hint", textContent: `${row.left.toLocaleString("en")} more ${plural(row.left, "character is", "characters are")} not shown.` }));
  const beyond = [...found].filter(([line]) => line > lines.length).flatMap(([line, said]) => said.map((one) => ({ ...one, origin: `${one.origin}, line ${line}` })));
  node.append(...beyond.map(remark));
  return node;
}

const remark = ({ hard, label, text, origin }) =>
  el("p", { className: hard ? "diagnostic" : "diagnostic soft" }, el("b", { textContent: label }), ` ${visible(text)}`, el("small", { textContent: origin }));
