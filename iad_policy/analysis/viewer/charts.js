"use strict";
/* Line charts as SVG. Colours come from the page's style, so they follow its dark or light mode. */

const SVG = "http://www.w3.org/2000/svg";
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

function colour(place) { return `var(--c${place % 8})`; }

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function ticks(low, high, wanted) {
  const span = high - low || 1;
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-6; at += step) found.push(at);
  return found;
}

function plain(value) {
  return Math.abs(value) >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
}

/* lines: [{name, points: [[x, y, low, high, what]]}] */
function lineChart(lines, { x, y, label }) {
  const width = 460, height = 260, left = 44, right = 12, top = 10, bottom = 38;
  const all = lines.flatMap((line) => line.points);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  if (!all.length) return root;
  const xs = all.map((point) => point[0]);
  const ys = all.flatMap((point) => [point[1], point[2] ?? point[1], point[3] ?? point[1]]);
  let [low, high] = [Math.min(...ys), Math.max(...ys)];
  if (high - low < 0.05) { low -= 0.05; high += 0.05; }
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const toX = (value) => left + (width - left - right) * (last > first ? (value - first) / (last - first) : 0.5);
  const toY = (value) => height - bottom - (height - top - bottom) * (value - low) / (high - low);
  for (const at of ticks(low, high, 5)) {
    root.append(
      svg("line", { x1: left, x2: width - right, y1: toY(at), y2: toY(at), class: "grid" }),
      svg("text", { x: left - 6, y: toY(at) + 4, "text-anchor": "end" }, plain(at)),
    );
  }
  for (const at of last > first ? ticks(first, last, 6) : [first]) {
    root.append(svg("text", { x: toX(at), y: height - bottom + 16, "text-anchor": "middle" }, plain(at)));
  }
  root.append(
    svg("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" }),
    svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, x),
    svg("text", { x: -(top + height - bottom) / 2, y: 11, transform: "rotate(-90)", "text-anchor": "middle" }, y),
  );
  lines.forEach((line, place) => {
    const path = line.points.map((point) => `${toX(point[0])},${toY(point[1])}`).join(" ");
    const style = { fill: "none", stroke: colour(place), "stroke-width": 2, "stroke-dasharray": DASHES[Math.floor(place / 8) % 4] };
    root.append(svg("polyline", { points: path, ...style }));
    for (const [atX, atY, from, to, what] of line.points) {
      if (from !== undefined && from !== null && to > from) {
        root.append(svg("line", { x1: toX(atX), x2: toX(atX), y1: toY(from), y2: toY(to), stroke: colour(place), opacity: 0.5 }));
      }
      const dot = svg("circle", { cx: toX(atX), cy: toY(atY), r: line.points.length > 20 ? 1.5 : 3.5, fill: colour(place) });
      dot.append(svg("title", {}, `${line.name}${what === undefined ? "" : ` ${what}`}: ${plain(atY)} at ${plain(atX)} ${x}`));
      root.append(dot);
    }
  });
  return root;
}
