// A completion, token by token: one span a token (one for each line it stands on), coloured by a value of the token.

/** A ratio of which the row has the logarithm; those near 1 differ in their last digits. */
const asRatio = (log) => String(Number(Math.exp(log).toPrecision(5)));
const signed = (limit) => [`−${pretty(limit)}`, `+${pretty(limit)}`];

/**
 * What the text may be coloured by: `write` gives a token's value in words, `ends` those of the scale. A row knows a
 * mode when it has its values, or where `constant` gives the one that all of its tokens have.
 */
const MODES = [
  { key: "reward", label: "reward", write: pretty, ends: signed },
  { key: "local", label: "local reward", write: pretty, ends: signed },
  { key: "advantage", label: "advantage", write: pretty, ends: signed },
  { key: "entropy", label: "entropy", write: (value) => `${pretty(value)} nats`, ends: (limit) => ["0", `${pretty(limit)} nats`], fromZero: true },
  {
    key: "ratio",
    label: "ratio",
    write: (log) => (log === null ? "–" : asRatio(log)),
    ends: (limit) => [asRatio(-limit), asRatio(limit)],
    constant: (row) => (row.entropy ? "exactly 1: its batch made one update" : null),
  },
];
const knows = (row, { key, constant }) => Boolean(row[key] ?? constant?.(row));

/** Per mode, the |value| with full colour: the 98th percentile over the page, so that completions compare. */
function colourLimits(rows) {
  return Object.fromEntries(MODES.map(({ key }) => {
    const sizes = rows.flatMap((row) => (row[key] ?? []).map(Math.abs)).filter((size) => size > 0).sort((a, b) => a - b);
    return [key, sizes.length ? sizes[Math.floor(0.98 * (sizes.length - 1))] : 1];
  }));
}

/** Colour one span: blue above zero, orange below, from `least` on stronger with size; nothing for zero or no value. */
function paint(span, value, limit, least) {
  span.classList.toggle("up", value > 0);
  span.classList.toggle("down", value < 0);
  span.style.setProperty("--w", value ? (least + (0.55 - least) * Math.min(1, Math.abs(value) / limit)).toFixed(3) : 0);
}

/** The text of a row as lines of token spans. Returns {node, lines, spans, repaint}; spans[t] are those of token t. */
function tokenView(row, numbered) {
  const lines = [];
  const spans = row.ids.map(() => []);
  const open = (start) => lines.push({ start, end: start, node: el("span", { className: "text" }) });
  const put = (text, token, newline, start) => {
    const span = el("span", { textContent: visible(text) });
    span.dataset.start = start;
    if (token >= 0) {
      span.className = text || newline ? "tok" : "tok void";
      span.dataset.t = token;
      spans[token].push(span);
    }
    if (newline) span.classList.add("nl");
    lines.at(-1).node.append(span);
    lines.at(-1).end = start + text.length;
  };
  open(0);
  let offset = 0;
  const lengths = row.ids.length ? row.lens : [row.text.length];
  lengths.forEach((length, t) => {
    const parts = row.text.slice(offset, offset + length).split("\n");
    parts.forEach((part, i) => {
      const newline = i < parts.length - 1;
      if (part || newline || parts.length === 1) put(part, row.ids.length ? t : -1, newline, offset);
      offset += part.length;
      if (newline) open((offset += 1));
    });
  });
  const node = el("div", { className: numbered ? "code numbered" : "code" }, lineNodes(lines, row, numbered));
  const repaint = (mode, limits) => {
    const least = MODES.find(({ key }) => key === mode)?.fromZero ? 0 : 0.1; // a sign is to be seen however small its value
    for (const [t, pieces] of spans.entries()) for (const span of pieces) paint(span, row[mode]?.[t] ?? 0, limits[mode], least);
  };
  return { node, lines, spans, repaint };
}

function lineNodes(lines, row, numbered) {
  let number = 0;
  return lines.map((line) => {
    const inCode = row.code && line.end >= row.code[0] && (line.start < row.code[1] || line.start === row.code[0]);
    if (inCode) number += 1;
    line.box = el("div", { className: "line" }, line.node);
    if (numbered && inCode) line.box.dataset.n = number;
    return line.box;
  });
}

/** Put each diagnostic below the line it is about, and mark the token it points at. */
function placeDiagnostics(view, row) {
  row.diagnostics.forEach((found, i) => {
    if (found.at === null) return;
    const line = view.lines.findLast(({ start }) => start <= found.at) ?? view.lines[0];
    line.box.classList.add("flagged", found.severity === "warning" ? "warned" : "failed");
    const spans = [...line.node.children];
    spans.findLast((span) => Number(span.dataset.start) <= found.at)?.classList.add("pointed");
    const note = el("div", { className: `diagnostic ${found.severity}`, id: `diagnostic-${i}` }, diagnosticText(found));
    (line.lastNote ?? line.box).after(note);
    line.lastNote = note;
  });
}

function diagnosticText({ source, severity, line, column, message }) {
  return [el("b", { textContent: `${severity} ${line}:${column}` }), ` ${visible(message)} `, el("small", { textContent: source })];
}

/** Hovering, or the arrow keys inside the text, show a token's numbers. */
function listenForTokens(view, row) {
  const tip = byId("tip");
  let current = null;
  const show = (t) => {
    for (const span of view.spans[current] ?? []) span.classList.remove("at");
    current = t;
    tip.hidden = t === null;
    if (t === null) return;
    for (const span of view.spans[t]) span.classList.add("at");
    tip.replaceChildren(...tokenFacts(row, t));
    placeTip(tip, view.spans[t][0].getBoundingClientRect());
  };
  view.node.addEventListener("pointerover", (event) => {
    const t = event.target.dataset.t;
    show(t === undefined ? null : Number(t));
  });
  view.node.addEventListener("pointerleave", () => show(null));
  view.node.addEventListener("blur", () => show(null));
  view.node.addEventListener("keydown", (event) => {
    const last = view.spans.length - 1;
    const here = current ?? -1;
    const goal = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: last, Escape: null }[event.key];
    if (goal === undefined || last < 0) return;
    event.preventDefault();
    if (goal === null) return show(null);
    const t = clamp(goal, 0, last);
    view.spans[t][0].scrollIntoView({ block: "nearest" });
    show(t);
    byId("token-status").textContent = tip.innerText;
  });
}

function tokenFacts(row, t) {
  const start = row.lens.slice(0, t).reduce((sum, length) => sum + length, 0);
  const text = JSON.stringify(row.text.slice(start, start + row.lens[t]));
  const values = MODES.filter((mode) => knows(row, mode)).map(({ key, label, write, constant }) =>
    el("div", {}, el("dt", { textContent: label }), el("dd", { textContent: row[key] ? write(row[key][t]) : constant(row) })));
  return [
    el("code", { textContent: visible(text) }),
    el("p", { textContent: `token ${t + 1} of ${row.ids.length} · id ${row.ids[t]}` }),
    el("dl", {}, values),
  ];
}

function placeTip(tip, anchor) {
  const below = anchor.bottom + 8;
  const top = below + tip.offsetHeight > innerHeight ? anchor.top - tip.offsetHeight - 8 : below;
  tip.style.left = `${clamp(anchor.left, 8, Math.max(8, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}
