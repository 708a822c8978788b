// Which of a token's values the text is coloured by: the radio buttons and the scale, of the page that `page` holds.

function setUpModes(page) {
  byId("modes").hidden = page.modes.length === 0;
  byId("modes").append(...page.modes.map(({ key, label }) => {
    const input = el("input", { type: "radio", name: "mode", value: key, checked: key === page.mode });
    input.addEventListener("change", () => setMode(page, key));
    return el("label", {}, input, label);
  }));
}

function setMode(page, mode) {
  page.mode = mode;
  for (const input of document.querySelectorAll("#modes input")) input.checked = input.value === mode;
  for (const view of page.views) view.repaint(mode, page.limits);
  drawScale(page);
}

function drawScale(page) {
  const mode = page.modes.find(({ key }) => key === page.mode);
  const row = page.current ?? page.group?.rows.find((one) => mode && knows(one, mode)); // one of those in view
  let parts = [];
  if (mode && row?.[mode.key]) {
    const [low, high] = mode.ends(page.limits[mode.key]);
    parts = [low, el("i", { className: mode.fromZero ? "from-zero" : "", "aria-hidden": "true" }), high];
  } else if (mode) parts = [(row && mode.constant?.(row)) ?? "no token values were kept for this one"];
  byId("scale").replaceChildren(...parts);
}
