// Scored replies: a list that can be searched and put in order, and one of them token by token with what it was marked for.

const MANY_MARKS = 100;
const lowest = (row) => Math.min(0, ...(row.local ?? []));
const highest = (row) => Math.max(0, ...(row.local ?? []));
/** By a value, lowest first; where it is missing comes last. */
const by = (value) => {
  const missing = (row) => !row.scored || value(row) === null;
  return (a, b) => missing(a) - missing(b) || value(a) - value(b);
};
const ORDERS = {
  "": ["as given", null],
  high: ["G, highest first", by((row) => (row.outcome === null ? null : -row.outcome))],
  low: ["G, lowest first", by((row) => row.outcome)],
  worst: ["lowest local reward first", by(lowest)],
  best: ["highest local reward first", by((row) => -highest(row))],
};
const SHOWN = { "": ["all", null], scored: ["scored", (row) => row.scored], not: ["not scored", (row) => !row.scored] };

function showScores({ rows }) {
  const page = { items: rows, limits: colourLimits(rows), views: [] };
  page.modes = MODES.filter((mode) => rows.some((row) => knows(row, mode)));
  page.mode = page.modes[0]?.key ?? "reward";
  if (rows.some((row) => row.local?.some((value) => value))) page.mode = "local"; // what G is can be read off the list
  byId("shown").parentNode.hidden = rows.every((row) => row.scored);
  setUpModes(page);
  showList(page, {
    words: (row) => `${row.name}\n${row.prompt}\n${row.text}`,
    orders: ORDERS,
    shown: SHOWN,
    called: (n) => plural(n, "reply", "replies"),
    tile: tileOf,
    draw: drawReply,
    key: onDigit,
  });
}

function tileOf(row) {
  const caption = el("span", { className: "caption" }, el("span", { className: "name", textContent: visible(row.name) }), outcome(row));
  return [el("span", { className: "stub", textContent: visible(row.text.slice(0, 240)) || "empty" }), caption];
}

function outcome(row) {
  if (!row.scored) return el("span", { className: "verdict bad", textContent: "not scored" });
  const text = row.outcome === null ? `S ${pretty(lowest(row))} to ${pretty(highest(row))}` : `G ${pretty(row.outcome)}`;
  return el("span", { className: (row.outcome ?? 1) > 0 ? "verdict good" : "verdict bad", textContent: text });
}

/** Digits choose the colours. */
function onDigit(page, event) {
  const mode = page.modes[Number(event.key) - 1];
  if (mode) setMode(page, mode.key);
}

function drawReply(page) {
  const row = page.current;
  page.views = [];
  byId("tip").hidden = true;
  byId("reader-title").textContent = visible(row.name);
  const view = tokenView(row, false);
  listenForTokens(view, row);
  view.node.tabIndex = 0;
  view.node.setAttribute("role", "group");
  view.node.setAttribute("aria-label", "Reply. Left and right arrow keys go through its tokens.");
  if (!row.text) view.node.append(el("p", { className: "hint", textContent: "An empty reply." }));
  page.views.push(view);
  byId("reading").replaceChildren(
    el("p", { className: "facts-line" }, facts(row)),
    row.prompt ? el("blockquote", { className: "prompt", "aria-label": "Prompt", textContent: visible(row.prompt) }) : "",
    el("div", { className: "spread" }, view.node, marks(row, view)),
  );
  view.repaint(page.mode, page.limits);
  drawScale(page);
}

function facts(row) {
  const total = (row.local ?? []).reduce((sum, value) => sum + (value ?? 0), 0);
  const pairs = [["mean S", row.local?.length ? total / row.local.length : null], ...Object.entries(row.metrics)];
  return [
    outcome(row),
    el("span", {}, el("b", { textContent: row.ids.length }), " tokens"),
    row.scored ? null : el("span", { textContent: visible(row.reason) }),
    row.truncated ? el("span", { className: "warned", textContent: "truncated" }) : null,
    row.note ? el("span", { className: "warned", textContent: visible(row.note) }) : null,
    ...pairs.filter(([, value]) => value !== null).map(([name, value]) => el("span", {}, `${visible(name)} `, el("b", { textContent: pretty(value) }))),
  ];
}

/** The spans that the model marked; pressing one shows its tokens. */
function marks(row, view) {
  if (!row.marks.length) return null;
  const items = row.marks.slice(0, MANY_MARKS).map((mark) => {
    const text = row.text.slice(mark.start, Math.min(mark.end, mark.start + 120));
    const button = el("button", { type: "button" },
      el("b", { className: mark.value < 0 ? "minus" : "", textContent: pretty(mark.value) }),
      el("span", { textContent: visible([mark.source, mark.reason].filter(Boolean).join(": ")) || "no reason given" }),
      el("code", { textContent: visible(text.trim()) }));
    button.addEventListener("click", () => hold(row, view, mark));
    return el("li", {}, button);
  });
  const left = row.marks.length - items.length;
  const more = left > 0 ? el("p", { className: "hint", textContent: `and ${left} more` }) : null;
  return el("aside", { "aria-label": "Marks" }, el("h4", { textContent: `Marks: ${row.marks.length}` }), el("ul", { className: "marks" }, items), more);
}

function hold(row, view, mark) {
  let [start, first] = [0, null];
  view.spans.forEach((pieces, t) => {
    const end = start + row.lens[t];
    const held = start < mark.end && end > mark.start;
    for (const piece of pieces) piece.classList.toggle("held", held);
    if (held) first ??= pieces[0];
    start = end;
  });
  first?.scrollIntoView({ block: "center" });
}

startWith(showScores);
