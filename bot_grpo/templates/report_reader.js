// The reader: one completion with everything known about it, its group side by side, its prompt at other steps.

/** What the rollouts of one group have in common. */
const GROUP = ["step", "kind", "group", "prompt"];

function drawReader(page) {
  const row = page.current;
  page.views = [];
  byId("tip").hidden = true;
  byId("reader").hidden = row === null;
  if (row === null) return;
  const at = page.list.indexOf(row);
  byId("position").textContent = `${at + 1} of ${page.list.length}`;
  byId("previous").disabled = at === 0;
  byId("next").disabled = at === page.list.length - 1;
  const group = page.rows.filter((other) => GROUP.every((key) => other[key] === row[key]));
  const rollout = group.length > 1 ? ` · rollout ${group.indexOf(row) + 1} of ${group.length}` : "";
  byId("reader-title").textContent = `${sectionName(row)}${row.group < 0 ? "" : ` · prompt ${row.group + 1}`}${rollout}`;
  byId("reading").replaceChildren(
    el("p", { className: "facts-line" }, facts(row)),
    el("blockquote", { className: "prompt", "aria-label": "Prompt", textContent: visible(row.prompt) }),
    el("div", { className: "spread" }, fullText(page, row), aside(page, row)),
    ...strip(page, group, `The ${group.length} rollouts of this prompt, with G and the means of S and A over their tokens`, (_, i) => `Rollout ${i + 1}`),
    ...strip(page, sameHeldOut(page, row), "This held-out prompt through training", (other) => `Step ${other.step}`),
  );
  for (const view of page.views) view.repaint(page.mode, page.limits);
  drawScale(page);
}

function sameHeldOut(page, row) {
  if (row.kind !== "eval") return [];
  const first = new Map();
  for (const other of page.rows)
    if (other.kind === "eval" && other.group === row.group && other.prompt === row.prompt && (other === row || !first.has(other.step))) first.set(other.step, other);
  return [...first.values()];
}
