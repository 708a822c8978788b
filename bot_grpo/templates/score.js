// Scored replies: a list that can be searched and put in order, and one of them token by token with what it was marked for.

const FIRST_TILES = innerWidth < 760 ? 12 : 24;
const MANY_MARKS = 100;
const lowest = (row) => Math.min(0, ...(row.local ?? []));
const highest = (row) => Math.max(0, ...(row.local ?? []));
const ORDERS = {
  "": ["as given", null],
  high: ["G, highest first", (row) => (row.outcome === null ? null : -row.outcome)],
  low: ["G, lowest first", (row) => row.outcome],
  worst: ["lowest local reward first", lowest],
  best: ["highest local reward first", (row) => -highest(row)],
};
const SHOWN = { "": ["all", () => true], scored: ["scored", (row) => row.scored], not: ["not scored", (row) => !row.scored] };

function showScores({ rows }) {
  rows.forEach((row, at) => {
    row.at = at;
    row.words = `${row.name}\n${row.prompt}\n${row.text}`.toLowerCase();
  });
  const page = { rows, list: rows, current: null, tiles: FIRST_TILES, limits: colourLimits(rows), views: [] };
  page.modes = MODES.filter(({ key }) => rows.some((row) => row[key]));
  page.mode = page.modes[0]?.key ?? "reward";
  if (rows.some((row) => row.local?.some((value) => value))) page.mode = "local"; // what G is can be read off the list
  for (const [id, options] of [["order", ORDERS], ["shown", SHOWN]])
    byId(id).append(...Object.entries(options).map(([value, [textContent]]) => el("option", { value, textContent })));
  byId("shown").parentNode.hidden = rows.every((row) => row.scored);
  byId("filters").addEventListener("input", () => choose(page));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  setUpModes(page);
  for (const [id, by] of [["previous", -1], ["next", 1]]) byId(id).addEventListener("click", () => turn(page, by));
  byId("show-more").addEventListener("click", () => {
    page.tiles += 2 * FIRST_TILES;
    drawTiles(page);
  });
  document.addEventListener("keydown", (event) => onKey(page, event));
  choose(page);
}

/** Apply the search, the filter and the order. Where a value is missing comes last. */
function choose(page) {
  const wanted = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [[, shown], [, value]] = [SHOWN[byId("shown").value], ORDERS[byId("order").value]];
  page.list = page.rows.filter((row) => shown(row) && wanted.every((word) => row.words.includes(word)));
  const missing = (row) => !row.scored || value(row) === null;
  if (value) page.list.sort((a, b) => missing(a) - missing(b) || value(a) - value(b));
  page.tiles = FIRST_TILES;
  byId("count").textContent = page.list.length ? `${page.list.length} of ${page.rows.length} ${plural(page.rows.length, "reply", "replies")}` : "None like that: change the search or the filter.";
  if (!page.list.includes(page.current)) page.current = page.list[0] ?? null;
  drawTiles(page);
  drawReply(page);
}

function drawTiles(page) {
  const shown = page.list.slice(0, page.tiles);
  byId("tiles").replaceChildren(...shown.map((row) => tile(page, row)));
  const left = page.list.length - shown.length;
  byId("show-more").hidden = left === 0;
  byId("show-more").textContent = `Show more (${left} left)`;
}

function tile(page, row) {
  const caption = el("span", { className: "caption" }, el("span", { className: "name", textContent: visible(row.name) }), outcome(row));
  const stub = el("span", { className: "stub", textContent: visible(row.text.slice(0, 240)) || "empty" });
  const node = el("button", { type: "button", className: "tile", data: { row: row.at } }, stub, caption);
  node.setAttribute("aria-current", String(row === page.current));
  node.addEventListener("click", () => show(page, row));
  return node;
}

function outcome(row) {
  if (!row.scored) return el("span", { className: "verdict bad", textContent: "not scored" });
  const text = row.outcome === null ? `S ${pretty(lowest(row))} to ${pretty(highest(row))}` : `G ${pretty(row.outcome)}`;
  return el("span", { className: (row.outcome ?? 1) > 0 ? "verdict good" : "verdict bad", textContent: text });
}

function show(page, row) {
  page.current = row;
  drawReply(page);
  for (const node of document.querySelectorAll(".tile")) node.setAttribute("aria-current", String(Number(node.dataset.row) === row.at));
  byId("reader-title").focus({ preventScroll: true });
  byId("reader").scrollIntoView({ block: "start" });
}

function turn(page, by) {
  const goal = page.list[page.list.indexOf(page.current) + by];
  if (goal) show(page, goal);
}

/** Letters and digits are commands, except where they are typed. */
function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input[type=search]")) return;
  const by = { j: 1, k: -1 }[event.key];
  const mode = page.modes[Number(event.key) - 1];
  if (by) turn(page, by);
  else if (mode) setMode(page, mode.key);
}

function drawReply(page) {
  const row = page.current;
  page.views = [];
  byId("tip").hidden = true;
  byId("reader").hidden = row === null;
  if (row === null) return;
  const at = page.list.indexOf(row);
  byId("position").textContent = `${at + 1} of ${page.list.length}`;
  byId("previous").disabled = at === 0;
  byId("next").disabled = at === page.list.length - 1;
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

async function start() {
  try {
    showScores(await unpack(byId("payload").textContent));
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    byId("failure").hidden = false;
    byId("failure").textContent = `This page could not be drawn (${error.message}). It needs a browser of 2023 or later.`;
    throw error;
  }
}

document.addEventListener("DOMContentLoaded", start);
