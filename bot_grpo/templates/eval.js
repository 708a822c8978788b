// Problems that can be searched and put in order, and one of them with its samples, one at a time.

const rate = (problem) => (problem.n ? problem.correct / problem.n : -1);
const length = (problem) => problem.samples.reduce((sum, sample) => sum + sample.tokens, 0) / Math.max(1, problem.samples.length);
const ORDERS = {
  "": ["as given", null],
  hard: ["hardest first", (a, b) => rate(a) - rate(b)],
  easy: ["easiest first", (a, b) => rate(b) - rate(a)],
  long: ["longest answers first", (a, b) => length(b) - length(a)],
};
const SHOWN = {
  "": ["all", null],
  never: ["never solved", (p) => p.n > 0 && p.correct === 0],
  sometimes: ["sometimes solved", (p) => p.correct > 0 && p.correct < p.n],
  always: ["always solved", (p) => p.n > 0 && p.correct === p.n],
  cut: ["with truncated samples", (p) => p.samples.some((sample) => sample.truncated)],
};

function showProblems(problems) {
  for (const problem of problems) problem.chosen = Math.max(0, problem.samples.findIndex((sample) => sample.correct));
  showList({ items: problems }, {
    words: (problem) => `${problem.id}\n${problem.text}`,
    orders: ORDERS,
    shown: SHOWN,
    called: () => "problems",
    tile: tileOf,
    draw: ({ current }) => drawProblem(current),
    key: onArrow,
  });
}

function tileOf(problem) {
  const done = el("i", { style: { width: `${100 * Math.max(0, rate(problem))}%` } });
  return [
    el("span", { className: "name", textContent: visible(problem.id) }),
    el("span", { className: "ask", textContent: visible(problem.text.slice(0, 240)) }),
    el("span", { className: "share", "aria-hidden": "true" }, done),
    el("span", { className: "caption" }, solved(problem)),
  ];
}

function solved(problem) {
  return el("span", { className: problem.correct ? "verdict good" : "verdict bad", textContent: `${problem.correct} of ${problem.n} right` });
}

/** The arrows go through the samples of the problem. */
function onArrow({ current }, event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || !current?.samples[current.chosen + step]) return;
  event.preventDefault();
  current.chosen += step;
  drawSample(current);
}

function drawProblem(problem) {
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

startWith(({ curve, problems }) => {
  showCurve(byId("curve"), curve);
  showProblems(problems);
});
