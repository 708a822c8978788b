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
  const limit = pretty(page.limits[page.mode]);
  const none = !page.current?.[page.mode];
  byId("scale").replaceChildren(...(page.modes.length && !none
    ? [`−${limit}`, el("i", { "aria-hidden": "true" }), `+${limit}`]
    : [page.modes.length ? "no token values were kept for this one" : ""]));
}
