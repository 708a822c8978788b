// Filters, the gallery by step, and the reader: they share one list, what the filters let through.

const FIRST_TILES = innerWidth < 760 ? 12 : 24;

function showCompletions({ rows, images }) {
  rows.forEach((row, i) => (row.at = i));
  const steps = [...new Set(rows.map((row) => row.step))];
  const page = { rows, images, steps, list: [], current: null, tiles: FIRST_TILES, limits: colourLimits(rows), views: [] };
  page.modes = MODES.filter((mode) => rows.some((row) => knows(row, mode)));
  page.mode = page.modes[0]?.key ?? "reward";
  page.select = (row) => select(page, row);
  byId("reader").hidden = false;
  setUpFilters(page);
  setUpModes(page);
  byId("previous").addEventListener("click", () => move(page, -1));
  byId("next").addEventListener("click", () => move(page, 1));
  byId("show-more").addEventListener("click", () => {
    page.tiles += 2 * FIRST_TILES;
    drawGallery(page);
  });
  document.addEventListener("keydown", (event) => onKey(page, event));
  applyFilters(page);
  return page;
}

function setUpFilters(page) {
  const count = (key, value) => page.rows.filter((row) => row[key] === value).length;
  const options = (key, names) => [...new Set(page.rows.map((row) => row[key]))].filter(Boolean).sort().map((value) =>
    el("option", { value, textContent: `${names(value)} (${count(key, value)})` }));
  byId("kind").append(el("option", { value: "", textContent: "all prompts" }), ...options("kind", (kind) => KINDS[kind] ?? kind));
  byId("status").append(el("option", { value: "", textContent: "any way" }), ...options("status", plain));
  byId("status").parentNode.hidden = byId("status").options.length < 2;
  byId("step").max = page.steps.length;
  byId("step").value = page.steps.length;
  byId("filters").addEventListener("input", () => {
    page.tiles = FIRST_TILES;
    applyFilters(page);
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
}

function applyFilters(page) {
  const slider = byId("step");
  const step = page.steps[slider.value - 1]; // the left end stands for all steps
  const [kind, status] = [byId("kind").value, byId("status").value];
  page.list = page.rows.filter((row) =>
    (step === undefined || row.step === step) && (!kind || row.kind === kind) && (!status || row.status === status));
  const name = step === undefined ? "all" : String(step);
  byId("step-name").textContent = name;
  slider.setAttribute("aria-valuetext", name);
  byId("count").textContent = page.list.length ? `${page.list.length} of ${page.rows.length} ${plural(page.rows.length, "completion")}` : "None like that: change a filter.";
  if (!page.list.includes(page.current)) page.current = page.list.find(hasLocalCredit) ?? page.list.find((row) => row.reward) ?? page.list[0] ?? null;
  drawGallery(page);
  drawReader(page);
}

/** Worth opening first: some of its tokens earned something of their own. */
const hasLocalCredit = (row) => row.local?.some((value) => value) ?? false;

function drawGallery(page) {
  const shown = page.list.slice(0, page.tiles);
  const groups = new Map();
  for (const row of shown) groups.set(sectionName(row), [...(groups.get(sectionName(row)) ?? []), row]);
  byId("gallery").replaceChildren(...[...groups].map(([title, rows]) =>
    el("section", { className: "shelf" }, el("h3", { textContent: title }), el("div", { className: "tiles-grid" }, rows.map((row) => tile(page, row))))));
  const left = page.list.length - shown.length;
  byId("show-more").hidden = left === 0;
  byId("show-more").textContent = `Show more (${left} left)`;
}

const sectionName = (row) => `Step ${row.step} · ${KINDS[row.kind] ?? row.kind}`;

function tile(page, row) {
  const caption = el("span", { className: "caption" }, verdict(row), el("span", { className: "ask", textContent: visible(row.prompt) }));
  const node = el("button", { type: "button", className: "tile", data: { row: row.at } }, picture(page, row), caption);
  node.setAttribute("aria-current", String(row === page.current));
  node.addEventListener("click", () => page.select(row));
  return node;
}

function select(page, row) {
  const inText = document.activeElement.matches?.(".code");
  const leaving = document.activeElement.closest?.("#reading, .tile");
  page.current = row;
  page.chosen = true; // by a person, and not as the first of the list
  if (!page.list.includes(row)) { // from a group or another step: widen the filters so that it is in the list
    byId("step").value = page.steps.indexOf(row.step) + 1;
    byId("kind").value = byId("status").value = "";
    applyFilters(page);
  } else {
    drawReader(page);
  }
  for (const node of document.querySelectorAll(".tile")) node.setAttribute("aria-current", String(Number(node.dataset.row) === row.at));
  if (leaving) (inText ? document.querySelector("#reading .code") : byId("reader-title")).focus({ preventScroll: true });
  byId("reader").scrollIntoView({ block: "start" });
}

function move(page, by) {
  const goal = page.list[page.list.indexOf(page.current) + by];
  if (goal) page.select(goal);
}

/** Letters and digits are commands, except in a list, where they look for an entry. */
function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
  const by = { j: 1, k: -1 }[event.key];
  const mode = page.modes[Number(event.key) - 1];
  if (by) move(page, by);
  else if (mode) setMode(page, mode.key);
}
