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

function ticks(low, high, wanted, least = 0) {
  const span = high - low || 1;
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough));
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-6; place += 1) found.push(place * step);
  return found;
}

function plain(value, digits = 3) {
  if (value && Math.abs(value) < 0.001) return value.toExponential(digits - 1).replace(/\.?0*e/, "e");
  return Math.abs(value) >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(digits)));
}

/* lines: [{name, points: [[x, y, low, high, what]]}], marks: [{x, name, colour}] by rising x, limits: [{y, name}]. `span` is the least
   height of the y axis, `counts` says that x is a whole number, `shares` that both axes go from 0 to 1, with the diagonal, and `onread` is
   told the point that is pointed at. */
function lineChart(lines, { x, y, label, marks = [], limits = [], span = 0.05, counts = false, shares = false, onread = null }) {
  const all = lines.flatMap((line) => line.points);
  const root = svg("svg", { role: "img", "aria-label": label });
  if (!all.length) return root;
  const xs = all.map((point) => point[0]);
  const ys = [...all.flatMap((point) => [point[1], point[2] ?? point[1], point[3] ?? point[1]]), ...limits.map((one) => one.y)];
  let [low, high] = shares ? [0, 1] : [Math.min(...ys), Math.max(...ys)];
  if (high - low < span) { low -= span; high += span; }
  else if (high === low) { const half = Math.abs(low) / 2 || 0.5; low -= half; high += half; }
  const levels = ticks(low, high, 5);
  const width = 460, right = 12, bottom = 38;
  const left = Math.max(44, 20 + 6.5 * Math.max(...levels.map((at) => plain(at).length)));
  const top = 10 + 14 * marks.length, height = 250 + top;
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const [first, last] = shares ? [0, 1] : [Math.min(...xs), Math.max(...xs)];
  const toX = (value) => left + (width - left - right) * (last > first ? (value - first) / (last - first) : 0.5);
  const toY = (value) => height - bottom - (height - top - bottom) * (value - low) / (high - low);
  for (const at of levels) {
    root.append(
      svg("line", { x1: left, x2: width - right, y1: toY(at), y2: toY(at), class: "grid" }),
      svg("text", { x: left - 6, y: toY(at) + 4, "text-anchor": "end" }, plain(at)),
    );
  }
  for (const at of last > first ? ticks(first, last, 6, counts ? 1 : 0) : [first]) {
    root.append(svg("text", { x: toX(at), y: height - bottom + 16, "text-anchor": "middle" }, plain(at)));
  }
  root.append(
    svg("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" }),
    svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, x),
    svg("text", { x: -(top + height - bottom) / 2, y: 11, transform: "rotate(-90)", "text-anchor": "middle" }, y),
  );
  if (shares) root.append(svg("line", { x1: toX(0), y1: toY(0), x2: toX(1), y2: toY(1), class: "diagonal" }));
  for (const limit of limits) {
    root.append(
      svg("line", { x1: left, x2: width - right, y1: toY(limit.y), y2: toY(limit.y), class: "limit" }),
      svg("text", { x: left + 4, y: toY(limit.y) + 13 }, limit.name),
    );
  }
  const isRight = marks.length > 0 && toX(marks.at(-1).x) > width / 2;
  (isRight ? [...marks].reverse() : marks).forEach((mark, place) => { // in this order no line crosses another's name
    root.append(
      svg("line", { x1: toX(mark.x), x2: toX(mark.x), y1: 4 + 14 * place, y2: height - bottom, class: "mark", stroke: `var(${mark.colour})` }),
      svg("text", { x: toX(mark.x) + (isRight ? -4 : 4), y: 13 + 14 * place, "text-anchor": isRight ? "end" : "start" }, mark.name),
    );
  });
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
  if (onread) {
    const seen = svg("circle", { r: 4.5, class: "seen-point", visibility: "hidden" });
    root.append(seen);
    root.addEventListener("pointermove", (event) => {
      const box = root.getBoundingClientRect();
      const at = (event.clientX - box.left) / box.width * width;
      const nearest = all.reduce((one, other) => (Math.abs(toX(other[0]) - at) < Math.abs(toX(one[0]) - at) ? other : one));
      for (const [name, value] of [["cx", toX(nearest[0])], ["cy", toY(nearest[1])], ["visibility", "visible"]]) seen.setAttribute(name, value);
      onread(nearest);
    });
  }
  return root;
}
