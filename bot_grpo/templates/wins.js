// The pairs: filters above, screenshots side by side below.

const AT_ONCE = 24;
const state = { data: null, shown: AT_ONCE };

const ENDED = [
  ["", "in any way", () => true],
  ["first", "first side won", (row) => row.score === 1],
  ["second", "second side won", (row) => row.score === 0],
  ["tie", "tied", (row) => row.score === 0.5],
  ["none", "not scored", (row) => row.score === null],
  ["order", "the order decided", (row) => flipped(row.rounds)],
];

/** Whether two rounds that differ in their order alone have different winners. */
function flipped(rounds) {
  const differ = (i, j) => rounds[i][1] && rounds[j][1] && rounds[i][1] !== rounds[j][1];
  return rounds.length === 4 && (differ(0, 1) || differ(3, 2));
}

function matching() {
  const match = byId("match").value;
  const [, , ends] = ENDED.find(([key]) => key === byId("ended").value);
  return state.data.rows.filter((row) => (match === "" || row.match === Number(match)) && ends(row));
}

function letters(row) {
  return state.data.matches[row.match].map((side) => state.data.sides[side][0]);
}

function figure(row, which) {
  const side = state.data.sides[state.data.matches[row.match][which]];
  const page = row.pages[which];
  const won = row.score === (which === 0 ? 1 : 0);
  const uri = state.data.images[page.image];
  const shown = uri
    ? el("img", { src: uri, alt: `The page of ${side[0]}`, loading: "lazy", decoding: "async" })
    : el("span", { className: "stub" }, visible(page.why));
  const caption = el("figcaption", {}, el("b", {}, `${side[0]} `), `${visible(side[1])} `);
  if (won) caption.append(el("span", { className: "won" }, "won"));
  return el("figure", { className: won ? "winner" : "" }, caption, shown);
}

/** A round in words, and what the judge said in it. */
function round(row, [first, winner, said], number) {
  const name = (side) => letters(row)[side === "A" ? 0 : 1];
  const result = winner === null ? "no answer" : `${name(winner)} wins`;
  return el("li", {}, el("b", {}, `${number + 1}. ${name(first)} first: ${result}`), el("span", {}, visible(said)));
}

function pair(row) {
  const outcome = el("p", { className: "outcome" });
  outcome.append(el("b", { className: row.score === null ? "open" : "" }, row.verdict), visible(row.reason));
  const sample = row.sample ? ` (page ${row.sample + 1})` : "";
  const parts = [outcome, el("p", { className: "asked" }, visible(row.prompt) + sample)];
  parts.push(el("div", { className: "both" }, figure(row, 0), figure(row, 1)));
  if (row.rounds.length) {
    const rounds = el("ul", { className: "rounds" }, row.rounds.map((one, i) => round(row, one, i)));
    parts.push(el("details", {}, el("summary", {}, "Rounds"), rounds));
  }
  return el("article", { className: "pair" }, parts);
}

function show() {
  const rows = matching();
  byId("list").replaceChildren(...rows.slice(0, state.shown).map(pair));
  byId("count").textContent = `${rows.length} of ${state.data.rows.length} ${plural(state.data.rows.length, "pair")}`;
  const left = rows.length - state.shown;
  byId("more").hidden = left <= 0;
  byId("more").textContent = `Show ${Math.min(left, AT_ONCE)} more`;
}

async function start() {
  try {
    state.data = await unpack(byId("payload").textContent);
    const { sides, matches } = state.data;
    const against = ([a, b]) => `${sides[a][0]} against ${sides[b][0]}`;
    byId("match").append(
      el("option", { value: "" }, "all"),
      ...matches.map((one, i) => el("option", { value: String(i) }, against(one))),
    );
    byId("of-match").hidden = matches.length < 2;
    byId("ended").append(...ENDED.map(([value, words]) => el("option", { value }, words)));
    byId("filters").addEventListener("input", () => {
      state.shown = AT_ONCE;
      show();
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("more").addEventListener("click", () => {
      state.shown += AT_ONCE;
      show();
    });
    show();
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    byId("failure").hidden = false;
    byId("failure").textContent = `This page could not be drawn (${error.message}). It needs a browser of 2023 or later.`;
    throw error;
  }
}

document.addEventListener("DOMContentLoaded", start);
