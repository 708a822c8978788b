// Line charts and stacked bars in SVG. All charts share one x axis and one read-out: pointing at a step in one of
// them shows the values of that step in the legends of all.

const HEIGHT = 190;
const MARGIN = { top: 10, right: 12, bottom: 24, left: 46 };

function showCharts({ charts, more, alarms, lastStep }) {
  const shared = { listeners: [], alarms, lastStep, at: null };
  shared.set = (step) => {
    shared.at = step;
    for (const listen of shared.listeners) listen(step);
  };
  byId("charts").append(...charts.map((spec) => chart(spec, shared)));
  if (more.length) {
    const details = byId("more-metrics");
    details.hidden = false;
    details.querySelector("summary").textContent = `${more.length} more ${plural(more.length, "metric")}`;
    details.querySelector("div").append(...more.map((spec) => chart(spec, shared)));
  }
}

/** A figure with title, legend and drawing; it draws itself again when its width changes. */
function chart(spec, shared) {
  const show = UNITS[spec.unit];
  const curves = spec.curves.map((curve, i) => ({ ...curve, colour: `var(--${spec.palette ?? "c"}${(i % 6) + 1})`, value: el("b") }));
  const legend = el("ul", { className: "legend" }, curves.map((curve) => legendItem(curve, spec, curves.length)));
  const when = el("span", { className: "when" });
  const canvas = svg("svg", { role: "img", tabindex: "0", height: HEIGHT, "aria-label": spoken(spec, show) });
  const figure = el("figure", { className: "chart" }, el("figcaption", {}, spec.title, when), legend, canvas);
  const steps = [...new Set(curves.flatMap((curve) => curve.points.map(([step]) => step)))].sort((a, b) => a - b);
  let plot = null;

  const read = (step) => {
    for (const curve of curves) {
      const point = curve.points.findLast(([s]) => step === null || s <= step);
      curve.value.textContent = point ? show(point[1]) : "–";
    }
    when.textContent = step === null ? "" : `step ${step}`;
    plot?.mark(step);
  };
  const draw = () => {
    const width = canvas.parentNode.clientWidth;
    if (width < 80) return;
    plot = drawPlot(canvas, width, spec, curves, shared);
    read(shared.at);
  };
  new ResizeObserver(draw).observe(figure);
  shared.listeners.push(read);
  listenForSteps(canvas, steps, () => plot, shared, () => `${spec.title}, ${when.textContent}: ` + curves.map(
    (curve) => `${curve.label} ${curve.value.textContent}`).join(", "));
  read(null);
  return figure;
}

function legendItem(curve, spec, count) {
  const swatch = el("i", { style: { background: curve.colour }, "aria-hidden": "true" });
  return el("li", { title: curve.key }, count > 1 ? swatch : null, curve.label === spec.title ? null : `${curve.label} `, curve.value);
}

/** What the chart says, for who cannot see it. */
function spoken(spec, show) {
  const parts = spec.curves.filter((curve) => curve.points.length).map(({ label, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    return `${label} from ${show(first[1])} at step ${first[0]} to ${show(last[1])} at step ${last[0]}`;
  });
  return `${spec.title}: ${parts.join("; ")}. Left and right arrow keys read it step by step.`;
}

function listenForSteps(canvas, steps, getPlot, shared, say) {
  canvas.addEventListener("pointermove", (event) => {
    const plot = getPlot();
    if (!plot) return;
    const wanted = plot.stepAt(event.clientX - canvas.getBoundingClientRect().left);
    shared.set(steps.reduce((best, step) => (Math.abs(step - wanted) < Math.abs(best - wanted) ? step : best)));
  });
  canvas.addEventListener("pointerleave", () => shared.set(null));
  canvas.addEventListener("blur", () => shared.set(null));
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const here = shared.at === null ? steps.length - (move < 0 ? 0 : 1) : steps.indexOf(shared.at);
    shared.set(steps[clamp(here + move, 0, steps.length - 1)]);
    byId("chart-status").textContent = say();
  });
}

/** Draw everything into `canvas`; returns how to mark a step and how to find the step at an x. */
function drawPlot(canvas, width, spec, curves, shared) {
  const [low, high, ticks] = valueAxis(spec, curves);
  const right = width - MARGIN.right;
  const bottom = HEIGHT - MARGIN.bottom;
  const half = spec.stacked ? Math.min(12, (right - MARGIN.left) / (2 * (shared.lastStep + 1))) : 0;
  const x = (step) => MARGIN.left + half + (step / Math.max(shared.lastStep, 1)) * (right - MARGIN.left - 2 * half);
  const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - MARGIN.top);
  canvas.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  canvas.setAttribute("width", width);
  const cursor = svg("line", { class: "cursor", y1: MARGIN.top, y2: bottom, visibility: "hidden" });
  const dots = svg("g", {});
  canvas.replaceChildren(
    ...ticks.map((tick) => gridLine(MARGIN.left, right, y(tick), tick === 0 ? "axis" : "grid", UNITS[spec.unit](tick))),
    ...stepLabels(shared.lastStep, width).map((step) => axisText(x(step), HEIGHT - 6, "middle", step)),
    ...alarmMarks(shared.alarms, x, bottom),
    ...(spec.goals ?? []).map((goal) => svg("line", { class: "goal", x1: MARGIN.left, x2: right, y1: y(goal), y2: y(goal) })),
    ...(spec.stacked ? bars(curves, x, y, half) : curves.flatMap((curve) => line(curve, x, y))),
    cursor,
    dots,
  );
  const mark = (step) => {
    cursor.setAttribute("visibility", step === null ? "hidden" : "visible");
    dots.replaceChildren();
    if (step === null) return;
    cursor.setAttribute("x1", x(step));
    cursor.setAttribute("x2", x(step));
    if (spec.stacked) return;
    for (const curve of curves) {
      const point = curve.points.find(([s]) => s === step);
      if (point) dots.append(svg("circle", { cx: x(step), cy: y(point[1]), r: 4, style: `fill:${curve.colour}` }));
    }
  };
  const stepAt = (px) => ((px - x(0)) / (x(shared.lastStep) - x(0))) * shared.lastStep || 0;
  return { mark, stepAt };
}

function gridLine(left, right, y, kind, label) {
  return svg("g", {}, svg("line", { class: kind, x1: left, x2: right, y1: y, y2: y }), axisText(left - 8, y + 4, "end", label));
}

function axisText(x, y, anchor, text) {
  const node = svg("text", { x, y, "text-anchor": anchor });
  node.textContent = text;
  return node;
}

/** [low, high, ticks] that hold all values; shares run from 0 to 1 (unless one breaks out of that). */
function valueAxis(spec, curves) {
  const drawn = (curve) => [...curve.points.map(([, value]) => value), ...(curve.band ?? []).flatMap(([, ...ends]) => ends)];
  const values = spec.stacked ? stackTotals(curves) : [...curves.flatMap(drawn), ...(spec.goals ?? [])];
  if (spec.unit === "share" && values.every((value) => value >= 0 && value < 1.001)) return [0, 1, [0, 0.5, 1]];
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (spec.stacked || (low > 0 && low < 0.6 * high)) low = 0;
  if (low === high) [low, high] = low === 0 ? [0, 1] : [Math.min(low, 0), Math.max(high, 0)];
  const rough = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((candidate) => candidate >= rough);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  return [ticks[0], ticks.at(-1), ticks];
}

function stackTotals(curves) {
  const totals = new Map();
  for (const { points } of curves) for (const [step, value] of points) totals.set(step, (totals.get(step) ?? 0) + value);
  return [...totals.values()];
}

function stepLabels(last, width) {
  const rough = last / Math.max(2, Math.floor(width / 90));
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000, 50000].find((s) => s >= rough) ?? rough;
  const labels = [];
  for (let at = 0; at <= last; at += step) labels.push(at);
  return labels;
}

function alarmMarks(alarms, x, bottom) {
  return alarms.map(([step, text]) => {
    const title = svg("title");
    title.textContent = `Step ${step}: ${text}`;
    return svg("line", { class: "alarm", x1: x(step), x2: x(step), y1: MARGIN.top, y2: bottom }, title);
  });
}

function line(curve, x, y) {
  const path = curve.points.map(([step, value], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const parts = [...band(curve, x, y), svg("path", { class: "line", d: path, style: `stroke:${curve.colour}` })];
  if (curve.points.length <= 40)
    parts.push(...curve.points.map(([step, v]) => svg("circle", { cx: x(step), cy: y(v), r: 2, style: `fill:${curve.colour}` })));
  return parts;
}

/** Where a curve is a mean: from the lowest to the highest of what it is a mean of. */
function band({ band: ends, colour }, x, y) {
  if (!ends) return [];
  const at = (step, value) => `${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
  const edge = [...ends.map(([step, , high]) => at(step, high)), ...ends.map(([step, low]) => at(step, low)).reverse()];
  return [svg("path", { d: `M${edge.join("L")}Z`, style: `fill:${colour};opacity:0.16` })];
}

function bars(curves, x, y, half) {
  const base = new Map();
  const gap = half > 3 ? 1.5 : 0;
  return curves.flatMap((curve) => curve.points.map(([step, value]) => {
    const from = base.get(step) ?? 0;
    base.set(step, from + value);
    const height = Math.max(0, y(from) - y(from + value));
    return svg("rect", { x: x(step) - half + gap, y: y(from + value), width: 2 * (half - gap), height, style: `fill:${curve.colour}` });
  }));
}
