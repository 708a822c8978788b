// `bot-grpo report --serve`: ask whether the run has gone on, and if so load the page again, where the person was.

const LIVE_EVERY = 3000; // milliseconds
const PLACE = "place in the report";

function followRun(page) {
  const line = byId("live");
  if (!line) return;
  if (page) comeBack(page);
  const timer = setInterval(async () => {
    if (!byId("follow").checked || document.hidden) return;
    try {
      const answer = await fetch("stamp", { cache: "no-store" });
      const stamp = answer.ok ? await answer.text() : line.dataset.stamp;
      byId("live-word").textContent = "";
      if (stamp === line.dataset.stamp) return;
      clearInterval(timer);
      if (page) sessionStorage.setItem(PLACE, JSON.stringify(placeOf(page)));
      location.reload();
    } catch {
      byId("live-word").textContent = "The server has stopped: this page stays as it is.";
    }
  }, LIVE_EVERY);
}

/** What a person has chosen, in terms that outlive a new page: rows are named by what they are, not by their number. */
function placeOf(page) {
  const slider = byId("step");
  const newest = Number(slider.value) === page.steps.length;
  const row = page.current;
  return {
    step: newest ? null : page.steps[slider.value - 1] ?? "all",
    kind: byId("kind").value,
    status: byId("status").value,
    mode: page.mode,
    row: row && page.chosen ? Object.fromEntries([...GROUP, "text"].map((key) => [key, row[key]])) : null,
    follow: byId("follow").checked,
    scroll: scrollY,
  };
}

function comeBack(page) {
  const place = JSON.parse(sessionStorage.getItem(PLACE) ?? "null");
  sessionStorage.removeItem(PLACE);
  if (place === null) return;
  byId("step").value = place.step === null ? page.steps.length : place.step === "all" ? 0 : page.steps.indexOf(place.step) + 1;
  for (const key of ["kind", "status"]) byId(key).value = [...byId(key).options].some(({ value }) => value === place[key]) ? place[key] : "";
  const found = place.row && page.rows.find((row) => Object.entries(place.row).every(([key, value]) => row[key] === value));
  if (found) [page.current, page.chosen] = [found, true];
  applyFilters(page);
  if (page.modes.some(({ key }) => key === place.mode)) setMode(page, place.mode);
  byId("follow").checked = place.follow;
  scrollTo(0, place.scroll);
}
