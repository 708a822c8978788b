// The curve of Pass@k with its band, in SVG: k on a logarithmic axis, shares from 0 to a round share above the curve.

const CURVE_HEIGHT = 250;
const EDGE = { top: 10, right: 14, bottom: 30, left: 46 };
const TOPS = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1];
const share = (value) => `${pretty(100 * value)} %`;

/** Draw the curve into `figure`, and again when its width changes. */
function showCurve(figure, points) {
  const canvas = svg("svg", { role: "img", height: CURVE_HEIGHT, "aria-label": spokenCurve(points) });
  figure.append(canvas);
  new ResizeObserver(() => drawCurve(canvas, figure.clientWidth, points)).observe(figure);
}

function spokenCurve(points) {
  const said = points.filter(({ k }, i) => Number.isInteger(Math.log2(k)) || i === points.length - 1);
  return `Pass@k: ${said.map(({ k, value }) => `${share(value)} at k = ${k}`).join(", ")}.`;
}

function drawCurve(canvas, width, points) {
  if (width < 80) return;
  const [right, bottom, last] = [width - EDGE.right, CURVE_HEIGHT - EDGE.bottom, points.at(-1).k];
  const highest = Math.max(...points.map((point) => point.by_problem[1]));
  const top = TOPS.find((one) => one >= highest) ?? 1;
  const x = (k) => (last === 1 ? (EDGE.left + right) / 2 : EDGE.left + (Math.log2(k) / Math.log2(last)) * (right - EDGE.left));
  const y = (value) => bottom - (value / top) * (bottom - EDGE.top);
  const at = ({ k }, value) => `${x(k).toFixed(1)} ${y(value).toFixed(1)}`;
  const upper = points.map((point) => at(point, point.by_problem[1]));
  const lower = points.map((point) => at(point, point.by_problem[0])).reverse();
  canvas.setAttribute("viewBox", `0 0 ${width} ${CURVE_HEIGHT}`);
  canvas.setAttribute("width", width);
  canvas.replaceChildren(
    ...[0, 0.25, 0.5, 0.75, 1].map((part) => curveGrid(EDGE.left, right, y(part * top), part === 0, share(part * top))),
    ...curveTicks(last, width).map((k) => curveText(x(k), CURVE_HEIGHT - 10, "middle", k)),
    svg("path", { class: "band", d: `M${[...upper, ...lower].join("L")}Z` }),
    svg("path", { class: "curve-line", d: `M${points.map((point) => at(point, point.value)).join("L")}` }),
    ...points.map((point) => curveDot(x(point.k), y(point.value), point)),
  );
}

function curveTicks(last, width) {
  const powers = Array.from({ length: Math.floor(Math.log2(last)) + 1 }, (_, i) => 2 ** i);
  const room = Math.max(2, Math.floor(width / 48));
  const every = Math.ceil(powers.length / room);
  return powers.filter((_, i) => i % every === 0);
}

function curveDot(cx, cy, { k, value, by_problem: [low, high] }) {
  const title = svg("title");
  title.textContent = `Pass@${k}: ${share(value)}, 95 %: ${share(low)} to ${share(high)}`;
  return svg("circle", { class: "curve-dot", cx, cy, r: 3 }, title);
}

function curveGrid(left, right, y, isAxis, label) {
  return svg("g", {}, svg("line", { class: isAxis ? "axis" : "grid", x1: left, x2: right, y1: y, y2: y }), curveText(left - 8, y + 4, "end", label));
}

function curveText(x, y, anchor, text) {
  const node = svg("text", { x, y, "text-anchor": anchor });
  node.textContent = text;
  return node;
}
