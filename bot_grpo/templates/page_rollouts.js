// One rollout with everything known about it, and cards of several side by side: what the pages of a run and of a
// comparison share. `page.select(row)` is what a click on a card does.

const KINDS = { eval: "held out", train: "training" };
const plain = (status) => status.replaceAll("_", " ");

/** The screenshot, or in its place what the completion ended with. */
function picture(page, row) {
  if (row.image) return el("img", { src: page.images[row.image], alt: "" });
  const why = row.diagnostics.find(({ severity }) => severity !== "warning")?.message ?? row.text.slice(-180);
  return el("span", { className: "stub", textContent: row.image_left_out ? "screenshot left out" : visible(why) });
}

function verdict(row) {
  const name = row.status ? plain(row.status) : `G ${pretty(row.outcome)}`;
  const good = row.status ? row.status === "ok" : row.outcome > 0;
  return el("span", { className: good ? "verdict good" : "verdict bad", textContent: row.scored ? name : `${name}, not scored` });
}

const mean = (values) => (values?.length ? values.reduce((sum, value) => sum + (value ?? 0), 0) / values.length : null);

function facts(row, short = false) {
  const [s, a] = short ? ["S", "A"] : ["mean S", "mean A"];
  const pairs = [["G", row.status ? row.outcome : null], [s, mean(row.local)], [a, mean(row.advantage)]];
  return [
    verdict(row),
    row.ids.length ? el("span", {}, el("b", { textContent: row.ids.length }), " tokens") : null,
    row.scored || short ? null : el("span", { textContent: visible(row.reason) }),
    row.truncated ? el("span", { className: "warned", textContent: "truncated" }) : null,
    short ? el("span", { className: "break" }) : null,
    ...pairs.filter(([, value]) => value !== null).map(([name, value]) => el("span", {}, `${name} `, el("b", { textContent: pretty(value) }))),
  ];
}

function fullText(page, row) {
  const view = tokenView(row, true);
  placeDiagnostics(view, row);
  listenForTokens(view, row);
  view.node.tabIndex = 0;
  view.node.setAttribute("role", "group");
  view.node.setAttribute("aria-label", "Completion. Left and right arrow keys go through its tokens.");
  page.views.push(view);
  if (!row.text) view.node.append(el("p", { className: "hint", textContent: "An empty completion." }));
  return view.node;
}

function aside(page, row) {
  const parts = [];
  if (row.image) parts.push(el("img", { className: "shot", src: page.images[row.image], alt: `Screenshot of the component for: ${visible(row.prompt)}` }));
  else if (row.image_left_out) parts.push(el("p", { className: "hint", textContent: "Its screenshot was left out to keep this page small." }));
  if (row.requirements.length) {
    const met = row.requirements.filter((one) => one.met).length;
    parts.push(el("h4", { textContent: `Requirements: ${met} of ${row.requirements.length} met` }), el("ul", { className: "requirements" }, row.requirements.map(requirement)));
  }
  if (row.diagnostics.length) {
    parts.push(el("h4", { textContent: "Diagnostics" }), el("ul", { className: "diagnostics" }, row.diagnostics.map(diagnosticLink)));
  }
  return parts.length ? el("aside", { "aria-label": "Verdict" }, parts) : null;
}

function requirement({ what, met, why }) {
  return el("li", { className: met ? "good" : "bad" }, el("span", { className: "unseen", textContent: met ? "met: " : "not met: " }), visible(what), why ? el("small", { textContent: visible(why) }) : null);
}

function diagnosticLink(found, i) {
  if (found.at === null) return el("li", {}, diagnosticText(found));
  const link = el("a", { href: `#diagnostic-${i}` }, diagnosticText(found));
  link.addEventListener("click", (event) => { // keeps the address, and so the browser's history, as it is
    event.preventDefault();
    byId(`diagnostic-${i}`).scrollIntoView({ block: "center" });
  });
  return el("li", {}, link);
}

/** Cards side by side, when there is more than one to compare. */
function strip(page, rows, title, name) {
  if (rows.length < 2) return [];
  const withPictures = rows.some((row) => row.image);
  const cards = rows.map((row, i) => card(page, row, name(row, i), withPictures));
  return [el("h4", { textContent: title }), el("div", { className: "strip", role: "list" }, cards)];
}

function card(page, row, name, withPicture) {
  const view = tokenView(row, false);
  page.views.push(view);
  const button = el("button", { type: "button", textContent: name });
  button.setAttribute("aria-current", String(row === page.current));
  button.addEventListener("click", () => page.select(row));
  return el("div", { className: row === page.current ? "card here" : "card", role: "listitem", data: { row: row.at } }, el("div", { className: "card-head" }, button), el("p", { className: "facts-line" }, facts(row, true)), withPicture ? picture(page, row) : null, view.node);
}
