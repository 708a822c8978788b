// Where the page of a comparison begins; its tables are in the page as they are.

const UNITS = {
  share: (value) => `${Math.round(value * 100)} %`,
  tokens: pretty,
  number: pretty,
};

startWith((data) => {
  showCharts(data);
  if (data.rows.length) showArms(data);
});
