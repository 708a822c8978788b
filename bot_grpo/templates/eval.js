// Problems that can be searched and put in order, and one of them with its samples, one at a time.

const FIRST_TILES = innerWidth < 760 ? 12 : 24;
const rate = (problem) => (problem.n ? problem.correct / problem.n : -1);
const length = (problem) => problem.samples.reduce((sum, sample) => sum + sample.tokens, 0) / Math.max(1, problem.samples.length);
const ORDERS = {
  "": ["as given", null],
  hard: ["hardest first", (a, b) => rate(a) - rate(b)],
  easy: ["easiest first", (a, b) => rate(b) - rate(a)],
  long: ["longest answers first", (a, b) => length(b) - length(a)],
};
const SHOWN = {
  "": ["all", () => true],
  never: ["never solved", (p) => p.n > 0 && p.correct === 0],
  sometimes: ["sometimes solved", (p) => p.correct > 0 && p.correct < p.n],
  always: ["always solved", (p) => p.n > 0 && p.correct === p.n],
  cut: ["with truncated samples", (p) => p.samples.some((sample) => sample.truncated)],
};

function showProblems(problems) {
  problems.forEach((problem, at) => {
    problem.at = at;
    problem.words = `${problem.id}\n${problem.text}`.toLowerCase();
    problem.chosen = Math.max(0, problem.samples.findIndex((sample) => sample.correct));
  });
  const page = { problems, list: problems, current: null, tiles: FIRST_TILES };
  for (const [id, options] of [["order", ORDERS], ["shown", SHOWN]])
    byId(id).append(...Object.entries(options).map(([value, [textContent]]) => el("option", { value, textContent })));
  byId("filters").addEventListener("input", () => choose(page));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const [id, by] of [["previous", -1], ["next", 1]]) byId(id).addEventListener("click", () => turn(page, by));
  byId("show-more").addEventListener("click", () => {
    page.tiles += 2 * FIRST_TILES;
    drawTiles(page);
  });
  document.addEventListener("keydown", (event) => onKey(page, event));
  choose(page);
}

/** Apply the search, the filter and the order. */
function choose(page) {
  const wanted = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [[, shown], [, order]] = [SHOWN[byId("shown").value], ORDERS[byId("order").value]];
  page.list = page.problems.filter((problem) => shown(problem) && wanted.every((word) => problem.words.includes(word)));
  if (order) page.list.sort(order);
  page.tiles = FIRST_TILES;
  byId("count").textContent = page.list.length ? `${page.list.length} of ${page.problems.length} problems` : "None like that: change the search or the filter.";
  if (!page.list.includes(page.current)) page.current = page.list[0] ?? null;
  drawTiles(page);
  drawProblem(page);
}

function drawTiles(page) {
  byId("tiles").replaceChildren(...page.list.slice(0, page.tiles).map((problem) => tile(page, problem)));
  const left = Math.max(0, page.list.length - page.tiles);
  byId("show-more").hidden = left === 0;
  byId("show-more").textContent = `Show more (${left} left)`;
}

function tile(page, problem) {
  const done = el("i", { style: { width: `${100 * Math.max(0, rate(problem))}%` } });
  const node = el("button", { type: "button", className: "tile", data: { problem: problem.at } },
    el("span", { className: "name", textContent: visible(problem.id) }),
    el("span", { className: "ask", textContent: visible(problem.text.slice(0, 240)) }),
    el("span", { className: "share", "aria-hidden": "true" }, done),
    el("span", { className: "caption" }, solved(problem)));
  node.setAttribute("aria-current", String(problem === page.current));
  node.addEventListener("click", () => show(page, problem));
  return node;
}

function solved(problem) {
  return el("span", { className: problem.correct ? "verdict good" : "verdict bad", textContent: `${problem.correct} of ${problem.n} right` });
}

function show(page, problem) {
  page.current = problem;
  drawProblem(page);
  for (const node of document.querySelectorAll(".tile")) node.setAttribute("aria-current", String(Number(node.dataset.problem) === problem.at));
  byId("reader-title").focus({ preventScroll: true });
  byId("reader").scrollIntoView({ block: "start" });
}

function turn(page, by) {
  const goal = page.list[page.list.indexOf(page.current) + by];
  if (goal) show(page, goal);
}

/** Letters and arrows are commands, except where they are typed. */
function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input[type=search]")) return;
  const by = { j: 1, k: -1 }[event.key];
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by) turn(page, by);
  else if (step && page.current?.samples[page.current.chosen + step]) {
    event.preventDefault();
    page.current.chosen += step;
    drawSample(page.current);
  }
}

function drawProblem(page) {
  const problem = page.current;
  byId("reader").hidden = problem === null;
  if (problem === null) return;
  const at = page.list.indexOf(problem);
  byId("position").textContent = `${at + 1} of ${page.list.length}`;
  byId("previous").disabled = at === 0;
  byId("next").disabled = at === page.list.length - 1;
  byId("reader-title").textContent = visible(problem.id);
  byId("about").replaceChildren(...about(problem));
  byId("problem").textContent = visible(problem.text);
  byId("samples").replaceChildren(...problem.samples.map((sample, i) => sampleButton(problem, sample, i)));
  drawSample(problem);
}

function about(problem) {
  const counts = new Map();
  for (const { answer } of problem.samples) if (answer !== null) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  const commonest = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([answer, n]) => `${visible(answer)} × ${n}`);
  return [
    solved(problem),
    problem.gold ? el("span", {}, "answer ", el("b", { textContent: problem.gold })) : null,
    commonest.length ? el("span", {}, "given: ", el("b", { textContent: commonest.join(", ") })) : null,
  ].filter((node) => node !== null);
}

function sampleButton(problem, sample, i) {
  const kind = sample.correct ? "right" : sample.correct === null ? "lost" : sample.truncated ? "cut" : "wrong";
  const button = el("button", { type: "button", className: kind, textContent: sample.number + 1, "aria-label": `Sample ${sample.number + 1}, ${verdict(sample)}` });
  button.addEventListener("click", () => {
    problem.chosen = i;
    drawSample(problem);
  });
  return button;
}

function verdict(sample) {
  return sample.correct ? "right" : sample.correct === null ? "not graded" : "wrong";
}

function drawSample(problem) {
  const sample = problem.samples[problem.chosen];
  [...byId("samples").children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === problem.chosen)));
  byId("sample").hidden = !sample;
  byId("sample-facts").replaceChildren(...(sample ? sampleFacts(sample) : ["No sample of this problem."]));
  if (!sample) return;
  byId("sample").textContent = visible(sample.text) || "An empty reply.";
  byId("sample").scrollTop = 0;
}

function sampleFacts(sample) {
  const said = sample.reason && sample.reason !== "right" ? sample.reason : "";
  return [
    el("span", {}, "sample ", el("b", { textContent: sample.number + 1 })),
    el("span", { className: sample.correct ? "verdict good" : "verdict bad", textContent: verdict(sample) }),
    sample.answer !== null ? el("span", {}, "answer ", el("b", { textContent: visible(sample.answer) })) : null,
    sample.status ? el("span", { textContent: sample.status }) : null,
    said ? el("span", { textContent: visible(said) }) : null,
    el("span", {}, el("b", { textContent: sample.tokens.toLocaleString("en") }), sample.tokens === 1 ? " token" : " tokens"),
    sample.truncated && said !== "truncated" ? el("span", { className: "warned", textContent: "truncated" }) : null,
  ].filter((node) => node !== null);
}

async function start() {
  try {
    const { curve, problems } = await unpack(byId("payload").textContent);
    showCurve(byId("curve"), curve);
    showProblems(problems);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    byId("failure").hidden = false;
    byId("failure").textContent = `This page could not be drawn (${error.message}). It needs a browser of 2023 or later.`;
    throw error;
  }
}

document.addEventListener("DOMContentLoaded", start);
