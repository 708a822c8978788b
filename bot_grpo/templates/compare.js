// The page of a comparison is its charts (report_charts.js); the tables are in the page as they are.

const UNITS = {
  share: (value) => `${Math.round(value * 100)} %`,
  tokens: pretty,
  number: pretty,
};

async function start() {
  try {
    showCharts(await unpack(byId("payload").textContent));
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    byId("failure").hidden = false;
    byId("failure").textContent = `This page could not be drawn (${error.message}). It needs a browser of 2023 or later.`;
    throw error;
  }
}

document.addEventListener("DOMContentLoaded", start);
