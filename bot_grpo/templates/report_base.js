// Where the report begins.

/** How a value of a chart is written, by the unit of the chart. */
const UNITS = {
  share: (value) => `${Math.round(value * 100)} %`,
  seconds: (value) => `${pretty(value)} s`,
  tokens: pretty,
  number: pretty,
};

startWith((data) => {
  showCharts(data);
  followRun(data.rows.length && byId("reader") ? showCompletions(data) : null);
});
