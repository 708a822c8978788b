// The cards, what chooses and orders them, and the way between them and one component.

const ORDERS = [
  ["", "as given", null],
  ["name", "by name", null],
];

function showGallery({ rows, pictures }) {
  const page = { rows, pictures, list: rows, status: "", current: null, focused: null, pushed: false, scroll: 0, closer: false };
  rows.forEach((row, at) => {
    row.at = at;
    row.words = [row.name, row.prompt, row.code, plain(row.status), ...row.diagnostics.map((d) => d.message), ...(row.page?.findings ?? [])].join("\n").toLowerCase();
    row.card = card(page, row);
  });
  page.watch = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => isIntersecting && load(page, target)), { rootMargin: "600px" });
  for (const row of rows) page.watch.observe(row.card);
  setUpFilters(page);
  for (const [id, by] of [["previous", -1], ["next", 1]]) byId(id).addEventListener("click", () => turn(page, by));
  byId("back").addEventListener("click", () => leave(page));
  addEventListener("popstate", () => route(page));
  document.addEventListener("keydown", (event) => onKey(page, event));
  choose(page);
  route(page);
}

function card(page, row) {
  const box = page.pictures[row.picture]?.box;
  const look = box ? el("span", { className: "crop" }, el("img", { alt: "", style: cropped(box) })) : el("span", { className: "stub", textContent: visible(stub(row)) });
  const figures = scores(row).map(([name, , text]) => el("span", { textContent: name === "met" ? `${text} met` : `${name} ${text}` }));
  const caption = el("span", { className: "caption" }, el("span", { className: "name", title: visible(row.name), textContent: shortName(row) }), verdict(row), el("span", { className: "scores" }, figures));
  const node = el("button", { type: "button", className: "tile", data: { row: row.at } }, look, caption);
  node.addEventListener("click", () => open(page, row));
  node.addEventListener("focus", () => (page.focused = row));
  return node;
}

/** The end of a path says more than its beginning. */
const shortName = (row) => visible(row.name.split("/").slice(-2).join("/"));
const stub = (row) => row.diagnostics.find(({ severity }) => severity !== "warning")?.message ?? (row.code || "no code").slice(0, 300);

/** A picture so that its box fills the frame. */
function cropped([x, y, w, h]) {
  return { width: `${100 / w}%`, left: `${(-100 * x) / w}%`, top: `${(-100 * y) / h}%` };
}

/** A card that comes near the window gets its picture: a thousand at once would be slow. */
function load(page, node) {
  const img = node.querySelector("img");
  if (img && !img.src) img.src = page.pictures[page.rows[node.dataset.row].picture].uri;
  page.watch.unobserve(node);
}

function setUpFilters(page) {
  const counts = new Map();
  for (const { status } of page.rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  const chips = [["", page.rows.length], ...[...counts].sort((a, b) => b[1] - a[1])].map(([status, count]) => {
    const chip = el("button", { type: "button", data: { status } }, status ? plain(status) : "all", el("b", { textContent: count }));
    chip.addEventListener("click", () => {
      page.status = page.status === status ? "" : status;
      choose(page);
    });
    return chip;
  });
  byId("statuses").append(...chips);
  const names = [...new Set(page.rows.flatMap((row) => scores(row).map(([name]) => name)))];
  const orders = [...ORDERS, ...names.flatMap((name) => [[`-${name}`, `${label(name)}, best first`], [`+${name}`, `${label(name)}, worst first`]])];
  byId("sort").append(...orders.map(([value, textContent]) => el("option", { value, textContent })));
  byId("filters").addEventListener("input", () => choose(page));
  byId("filters").addEventListener("submit", (event) => {
    event.preventDefault();
    page.list[0]?.card.focus();
  });
}

const label = (name) => (name === "met" ? "requirements met" : name === "page" ? "page score" : name);

/** Apply the filters and the order. */
function choose(page) {
  const wanted = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  page.list = page.rows.filter((row) => (!page.status || row.status === page.status) && wanted.every((word) => row.words.includes(word)));
  const order = byId("sort").value;
  if (order === "name") page.list.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  else if (order) page.list.sort(by(order.slice(1), order[0] === "-" ? -1 : 1));
  for (const chip of byId("statuses").querySelectorAll("button")) chip.setAttribute("aria-pressed", String(chip.dataset.status === page.status));
  byId("count").textContent = page.list.length ? `${page.list.length.toLocaleString("en")} of ${page.rows.length.toLocaleString("en")}` : "None like that: change the search or the filter.";
  byId("grid").replaceChildren(...page.list.map((row) => row.card));
}

/** By a score; what has none comes last, and ties stay as given. */
function by(name, sign) {
  const value = (row) => scores(row).find(([key]) => key === name)?.[1] ?? null;
  return (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (x - y);
  };
}

/** Show what the address says: one component by its number, or all of them. */
function route(page) {
  const row = page.rows[Number(location.hash.slice(1)) - 1] ?? null;
  const before = page.current;
  if (row && !before) page.scroll = scrollY;
  page.current = row;
  byId("overview").hidden = byId("head").hidden = row !== null;
  byId("detail").hidden = row === null;
  if (row) {
    drawDetail(page, row);
    byId("detail-title").focus({ preventScroll: true });
    scrollTo({ top: 0, behavior: "instant" });
  } else if (before) {
    scrollTo({ top: page.scroll, behavior: "instant" });
    before.card.focus();
  }
}

function open(page, row) {
  history.pushState(null, "", `#${row.at + 1}`);
  page.pushed = true;
  route(page);
}

/** The next or the previous one takes the place of this one, so that going back leads to all of them. */
function turn(page, step) {
  const at = page.list.indexOf(page.current);
  const goal = at < 0 ? undefined : page.list[at + step];
  if (!goal) return;
  history.replaceState(null, "", `#${goal.at + 1}`);
  route(page);
}

function leave(page) {
  if (page.pushed) {
    page.pushed = false;
    return history.back();
  }
  history.replaceState(null, "", "#");
  route(page);
}

function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select");
  if (page.current) onDetailKey(page, event);
  else if (event.key === "Escape" && event.target.id === "search") event.target.value ? clearSearch(page) : event.target.blur();
  else if (event.key === "/" && !typing) {
    event.preventDefault();
    byId("search").select();
  } else if (!typing || (event.key === "ArrowDown" && event.target.id === "search")) onGridKey(page, event);
}

function clearSearch(page) {
  byId("search").value = "";
  choose(page);
}

function onDetailKey(page, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1, k: -1, j: 1 }[event.key];
  if (step) turn(page, step);
  else if (event.key === "Escape") leave(page);
  else if (event.key === "z") document.querySelector("#detail .shot")?.click();
  else if (event.key === "/") {
    event.preventDefault();
    addEventListener("popstate", () => byId("search").select(), { once: true });
    leave(page);
    if (!page.current) byId("search").select();
  }
}

function onGridKey(page, event) {
  const columns = getComputedStyle(byId("grid")).gridTemplateColumns.split(" ").length;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
  if (!step || !page.list.length) return;
  event.preventDefault();
  const at = event.target.matches(".tile") ? page.list.indexOf(page.focused) : -1;
  const goal = page.list[at < 0 ? Math.max(page.list.indexOf(page.focused), 0) : at + step];
  goal?.card.focus();
}

async function start() {
  try {
    showGallery(await unpack(byId("payload").textContent));
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    byId("failure").hidden = false;
    byId("failure").textContent = `This page could not be drawn (${error.message}). It needs a browser of 2023 or later.`;
    throw error;
  }
}

document.addEventListener("DOMContentLoaded", start);
