// What the arms wrote for one prompt, side by side: a column an arm, in it a card for each of its rollouts.

/** What the rollouts in view have in common; a prompt's text too, for refilled groups have prompts of their own. */
const SAME = ["seed", "kind", "step", "prompt"];

function showArms({ rows, images, arms }) {
  rows.forEach((row, i) => (row.at = i));
  const page = { rows, images, arms, limits: colourLimits(rows), views: [], groups: groupsOf(rows), current: null };
  page.modes = MODES.filter((mode) => rows.some((row) => knows(row, mode)));
  page.mode = page.modes[0]?.key ?? "reward";
  page.select = (row) => read(page, row);
  setUpModes(page);
  for (const id of ["seed", "kind", "step", "prompt"]) byId(id).addEventListener("input", () => choose(page, id));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const [id, by] of [["previous", -1], ["next", 1]]) byId(id).addEventListener("click", () => turn(page, by));
  document.addEventListener("keydown", (event) => onKey(page, event));
  offer("seed", distinct(page.groups, "seed"), (seed) => seed);
  choose(page, "seed");
}

/** One entry for each prompt that was answered, with all rollouts of all arms. */
function groupsOf(rows) {
  const groups = new Map();
  for (const row of rows) {
    const name = JSON.stringify(SAME.map((key) => row[key]));
    if (!groups.has(name)) groups.set(name, { ...Object.fromEntries(SAME.map((key) => [key, row[key]])), number: row.group, rows: [] });
    groups.get(name).rows.push(row);
  }
  return [...groups.values()].sort((a, b) => a.step - b.step || a.number - b.number);
}

const distinct = (groups, key) => [...new Set(groups.map((group) => group[key]))].sort((a, b) => (a > b) - (a < b));

/** Fill a list; what was chosen stays chosen where it is still there. */
function offer(id, values, words) {
  const before = byId(id).value;
  byId(id).replaceChildren(...values.map((value) => el("option", { value, textContent: words(value) })));
  if (values.map(String).includes(before)) byId(id).value = before;
}

/** Something was chosen: what stands after it in the line is offered anew, as near to what it was as there is. */
function choose(page, changed) {
  const after = ["seed", "kind", "step", "prompt"].indexOf(changed);
  let groups = page.groups.filter(({ seed }) => String(seed) === byId("seed").value);
  if (after < 1) offer("kind", distinct(groups, "kind"), (kind) => KINDS[kind] ?? kind);
  groups = groups.filter(({ kind }) => kind === byId("kind").value);
  if (after < 2) offerSteps(page, distinct(groups, "step"));
  const step = page.steps[byId("step").value - 1];
  byId("step-name").textContent = step;
  byId("step").setAttribute("aria-valuetext", step);
  groups = groups.filter((group) => group.step === step);
  if (after < 3) {
    const place = groups.findIndex(({ prompt }) => prompt === page.group?.prompt);
    offer("prompt", [...groups.keys()], (i) => shortened(groups[i].prompt));
    byId("prompt").value = Math.max(0, place);
  }
  page.list = groups;
  page.group = groups[byId("prompt").value];
  page.current = null;
  drawGroup(page);
}

function offerSteps(page, steps) {
  const before = page.steps?.[byId("step").value - 1];
  const place = before === undefined ? -1 : steps.findLastIndex((step) => step <= before);
  page.steps = steps;
  byId("step").max = steps.length;
  byId("step").value = place < 0 ? steps.length : place + 1;
}

function shortened(prompt) {
  const line = visible(prompt.replace(/\s+/g, " ").trim());
  return line.length > 90 ? `${line.slice(0, 90)}…` : line;
}

function drawGroup(page) {
  const { group, list } = page;
  const at = list.indexOf(group);
  byId("tip").hidden = true;
  byId("position").textContent = `${at + 1} of ${list.length}`;
  byId("previous").disabled = at === 0;
  byId("next").disabled = at === list.length - 1;
  byId("group-title").textContent = `Seed ${group.seed} · step ${group.step} · ${KINDS[group.kind] ?? group.kind}`;
  page.views = [];
  const columns = page.arms.map((name, arm) => column(page, name, group.rows.filter((row) => row.arm === arm)));
  byId("group").replaceChildren(
    el("blockquote", { className: "prompt", "aria-label": "Prompt", textContent: visible(group.prompt) }),
    el("div", { className: "arms", role: "group", "aria-label": "What the arms wrote", tabIndex: 0, style: { "--arms": page.arms.length } }, columns),
  );
  page.groupViews = page.views;
  drawReader(page);
}

/** An arm: in its head the means over its rollouts, below them the rollouts. */
function column(page, name, rows) {
  const title = el("h4", { textContent: visible(name) });
  if (!rows.length) return el("section", { className: "arm" }, title, el("p", { className: "hint", textContent: "It has no rollouts of this prompt at this step." }));
  const withPictures = page.group.rows.some((row) => row.image);
  const cards = rows.map((row, i) => card(page, row, rows.length > 1 ? `Rollout ${i + 1}` : "Its answer", withPictures));
  return el("section", { className: "arm" }, title, el("p", { className: "facts-line" }, together(rows)), el("div", { className: "cards", role: "list" }, cards));
}

/** The means over an arm's rollouts of one prompt; what could not be scored has no part in them. */
function together(rows) {
  const scored = rows.filter((row) => row.scored);
  const over = (value) => mean(scored.map(value).filter((one) => one !== null));
  const figures = [["mean G", over((row) => row.outcome)], ["S", over((row) => mean(row.local))], ["A", over((row) => mean(row.advantage))]];
  const ends = rows.some((row) => row.status) ? el("span", {}, el("b", { textContent: rows.filter((row) => row.status === "ok").length }), ` of ${rows.length} ok`) : null;
  const without = rows.length - scored.length;
  return [
    ends,
    ...figures.filter(([, value]) => value !== null).map(([name, value]) => el("span", {}, `${name} `, el("b", { textContent: pretty(value) }))),
    without ? el("span", { className: "warned", textContent: `${without} not scored` }) : null,
  ];
}

/** One rollout, below the arms; the cards above stay as they are. */
function read(page, row) {
  page.current = row;
  for (const node of document.querySelectorAll("#group .card")) node.classList.toggle("here", Number(node.dataset.row) === row.at);
  for (const node of document.querySelectorAll("#group .card button")) node.setAttribute("aria-current", String(Number(node.closest(".card").dataset.row) === row.at));
  drawReader(page);
  byId("reader-title").focus({ preventScroll: true });
  byId("reader").scrollIntoView({ block: "start" });
}

function drawReader(page) {
  const row = page.current;
  byId("reader").hidden = row === null;
  page.views = [...page.groupViews];
  if (row !== null) {
    const own = page.group.rows.filter((other) => other.arm === row.arm);
    const rollout = own.length > 1 ? ` · rollout ${own.indexOf(row) + 1} of ${own.length}` : "";
    byId("reader-title").textContent = `${visible(page.arms[row.arm])}${rollout}`;
    byId("reading").replaceChildren(el("p", { className: "facts-line" }, facts(row)), el("div", { className: "spread" }, fullText(page, row), aside(page, row)));
  }
  for (const view of page.views) view.repaint(page.mode, page.limits);
  drawScale(page);
}

function turn(page, by) {
  const goal = page.list.indexOf(page.group) + by;
  if (!page.list[goal]) return;
  byId("prompt").value = goal;
  choose(page, "prompt");
}

/** Letters and digits are commands, except in a list, where they look for an entry. */
function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
  const by = { j: 1, k: -1 }[event.key];
  const mode = page.modes[Number(event.key) - 1];
  if (by) turn(page, by);
  else if (mode) setMode(page, mode.key);
}
