// Where the report begins.

/** How a value of a chart is written, by the unit of the chart. */
const UNITS = {
  share: (value) => `${Math.round(value * 100)} %`,
  seconds: (value) => `${pretty(value)} s`,
  tokens: pretty,
  number: pretty,
};

async function start() {
  try {
    const data = await unpack(byId("payload").textContent);
    showCharts(data);
    followRun(data.rows.length && byId("reader") ? showCompletions(data) : null);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    byId("failure").hidden = false;
    byId("failure").textContent = `This page could not be drawn (${error.message}). It needs a browser of 2023 or later.`;
    throw error;
  }
}

document.addEventListener("DOMContentLoaded", start);
