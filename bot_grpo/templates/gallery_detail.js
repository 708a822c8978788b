// One component: its code beside its picture, and everything that was found.

const plain = (status) => status.replaceAll("_", " ");

/** The scores that a component has: [name, value in [0, 1] or null, as it is written]. */
function scores(row) {
  const found = [];
  if (row.page) found.push(["page", row.page.score, row.page.score.toFixed(2)]);
  for (const [kind, { score }] of Object.entries(row.judges)) found.push([`${kind} judge`, score === null ? null : score / 10, score === null ? "–" : `${pretty(score)} of 10`]);
  if (row.requirements.length) {
    const met = row.requirements.filter((one) => one.met).length;
    found.push(["met", met / row.requirements.length, `${met} of ${row.requirements.length}`]);
  }
  return found;
}

const verdict = (row) => el("span", { className: row.status === "ok" ? "verdict good" : "verdict bad", textContent: plain(row.status) });

function drawDetail(page, row) {
  const at = page.list.indexOf(row);
  byId("position").textContent = at < 0 ? "not among those shown" : `${at + 1} of ${page.list.length}`;
  byId("previous").disabled = at <= 0;
  byId("next").disabled = at < 0 || at === page.list.length - 1;
  byId("detail-title").textContent = visible(row.name);
  byId("reading").replaceChildren(
    el("p", { className: "facts-line" }, facts(row)),
    ...(row.prompt ? [el("blockquote", { className: "prompt", "aria-label": "Prompt", tabIndex: 0, textContent: visible(row.prompt) })] : []),
    el("div", { className: "spread" }, row.code ? codeView(row) : el("p", { className: "note", textContent: "There is no code in it." }), aside(page, row)),
  );
}

function facts(row) {
  const times = [["compiled", row.compileMs], ["rendered", row.renderMs]].filter(([, ms]) => ms !== null);
  return [
    verdict(row),
    ...scores(row).map(([name, , text]) => el("span", {}, `${name} `, el("b", { textContent: text }))),
    ...times.map(([what, ms]) => el("span", {}, `${what} in `, el("b", { textContent: `${pretty(Math.round(ms))} ms` }))),
  ];
}

function aside(page, row) {
  const picture = page.pictures[row.picture];
  const parts = [
    ...(picture ? [shot(page, row, picture)] : []),
    ...requirements(row),
    ...pageScore(row),
    ...Object.entries(row.judges).flatMap(([kind, judged]) => judgement(kind, judged)),
    ...diagnostics(row),
  ];
  return parts.length ? el("aside", { "aria-label": "Verdict" }, parts) : null;
}

/** The screenshot; a click goes closer to what is painted, which can be small, and back. */
function shot(page, row, { uri, box, width, height }) {
  const img = el("img", { src: uri, alt: `Screenshot of ${visible(row.name)}` });
  const node = el("button", { type: "button", className: "shot", title: "Closer, or whole (z)", style: { "aspect-ratio": `${width} / ${height}` } }, img);
  const show = () => {
    for (const [name, value] of Object.entries(cropped(page.closer ? box : [0, 0, 1, 1]))) img.style.setProperty(name, value);
    node.setAttribute("aria-pressed", String(page.closer));
  };
  node.addEventListener("click", () => {
    page.closer = !page.closer;
    show();
  });
  show();
  return node;
}

function requirements({ requirements: all }) {
  if (!all.length) return [];
  const met = all.filter((one) => one.met).length;
  const item = ({ what, met, why }) =>
    el("li", { className: met ? "good" : "bad" }, el("span", { className: "unseen", textContent: met ? "met: " : "not met: " }), visible(what), why ? el("small", { textContent: visible(why) }) : null);
  return [el("h2", { textContent: `Requirements: ${met} of ${all.length} met` }), el("ul", { className: "requirements" }, all.map(item))];
}

function pageScore({ page, pageReason }) {
  if (!page) return pageReason ? [el("h2", { textContent: "Page, not scored" }), el("p", { className: "remark", textContent: visible(pageReason) })] : [];
  const measures = Object.entries(page.parts).flatMap(([name, value]) => [
    el("dt", { textContent: name }),
    el("dd", { className: "track", "aria-hidden": "true" }, el("i", { className: value < 0.5 ? "low" : "", style: { width: `${100 * value}%` } })),
    el("dd", { className: "figure", textContent: value.toFixed(2) }),
  ]);
  const findings = page.findings.map((text) => el("li", { textContent: visible(text) }));
  return [
    el("h2", { textContent: `Page, by rules: ${page.score.toFixed(2)}` }),
    el("dl", { className: "measures" }, measures),
    ...(findings.length ? [el("ul", { className: "findings" }, findings)] : []),
  ];
}

function judgement(kind, { score, reason, not_react: foreign }) {
  const figure = score === null ? "no score" : `${pretty(score)} of 10`;
  const said = [foreign ? "It is no React component." : "", reason].filter(Boolean).join(" ");
  return [el("h2", { textContent: `The ${kind} judge, a model: ${figure}` }), ...(said ? [el("p", { className: "remark", textContent: visible(said) })] : [])];
}

function diagnostics(row) {
  if (!row.diagnostics.length) return [];
  const item = ({ line, message, source }) => {
    const link = el("a", { href: `#${row.at + 1}`, textContent: `line ${line}` });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      for (const old of document.querySelectorAll(".line.found")) old.classList.remove("found");
      const goal = document.querySelector(`#reading .line[data-n="${line}"]`);
      goal?.classList.add("found");
      goal?.scrollIntoView({ block: "center" });
    });
    return el("li", {}, link, ` ${visible(message)} `, el("small", { textContent: source }));
  };
  return [el("h2", { textContent: "Diagnostics" }), el("ul", { className: "diagnostics" }, row.diagnostics.map(item))];
}
