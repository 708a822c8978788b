// A list that can be searched, filtered and put in order, shown as tiles, and one of its items in the reader: what the
// pages of evaluations and of scores share. `page` holds the items, those that are shown, and the one that is read.

const FIRST_TILES = innerWidth < 760 ? 12 : 24;

/**
 * Draw the list of `page.items` and read its first one. `how` is what a page has of its own:
 * `words(item)` are searched; `orders` and `shown` are {value: [label, compare or keep, or null for all]};
 * `called(n)` is the noun for n items; `tile(item)` gives the children of its button; `draw(page)` draws the reader of
 * `page.current`, which is not null; `key(page, event)` takes the keys that are not the list's.
 */
function showList(page, how) {
  Object.assign(page, { how, list: page.items, current: null, tiles: FIRST_TILES });
  page.items.forEach((item, at) => {
    item.at = at;
    item.words = how.words(item).toLowerCase();
  });
  for (const [id, options] of [["order", how.orders], ["shown", how.shown]])
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
  const [[, keep], [, compare]] = [page.how.shown[byId("shown").value], page.how.orders[byId("order").value]];
  page.list = page.items.filter((item) => (keep?.(item) ?? true) && wanted.every((word) => item.words.includes(word)));
  if (compare) page.list.sort(compare);
  page.tiles = FIRST_TILES;
  const all = page.items.length;
  byId("count").textContent = page.list.length ? `${page.list.length} of ${all} ${page.how.called(all)}` : "None like that: change the search or the filter.";
  if (!page.list.includes(page.current)) page.current = page.list[0] ?? null;
  drawTiles(page);
  drawReader(page);
}

function drawTiles(page) {
  byId("tiles").replaceChildren(...page.list.slice(0, page.tiles).map((item) => tile(page, item)));
  const left = Math.max(0, page.list.length - page.tiles);
  byId("show-more").hidden = left === 0;
  byId("show-more").textContent = `Show more (${left} left)`;
}

function tile(page, item) {
  const node = el("button", { type: "button", className: "tile", data: { item: item.at } }, page.how.tile(item));
  node.setAttribute("aria-current", String(item === page.current));
  node.addEventListener("click", () => show(page, item));
  return node;
}

function drawReader(page) {
  byId("reader").hidden = page.current === null;
  if (page.current === null) return;
  const at = page.list.indexOf(page.current);
  byId("position").textContent = `${at + 1} of ${page.list.length}`;
  byId("previous").disabled = at === 0;
  byId("next").disabled = at === page.list.length - 1;
  page.how.draw(page);
}

function show(page, item) {
  page.current = item;
  drawReader(page);
  for (const node of document.querySelectorAll(".tile")) node.setAttribute("aria-current", String(Number(node.dataset.item) === item.at));
  byId("reader-title").focus({ preventScroll: true });
  byId("reader").scrollIntoView({ block: "start" });
}

function turn(page, by) {
  const goal = page.list[page.list.indexOf(page.current) + by];
  if (goal) show(page, goal);
}

/** Keys are commands, except where they are typed. */
function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input[type=search]")) return;
  const by = { j: 1, k: -1 }[event.key];
  if (by) turn(page, by);
  else page.how.key(page, event);
}
