"use strict";
/* A search tree as a drawing, from left to right: a circle is an action, as large as its visits and as full as its value. */

const COLUMN = 236, LABEL = 182, ROW = 38, MOST_DRAWN = 120;

/* The depth to which a tree is drawn, so that at most MOST_DRAWN visited actions are, except at the root. */
function drawnDepth(nodes) {
  let level = [nodes[0]];
  for (let n = 0, depth = 0; ; depth += 1) {
    const visited = level.flatMap((node) => node.edges.filter((edge) => edge.n));
    n += visited.length;
    if (!visited.length || (depth && n > MOST_DRAWN)) return depth;
    level = visited.flatMap((edge) => edge.to.map((to) => nodes[to]));
  }
}

/* The actions below a state with their places: {edge, y, below}, where `edge` is null for those that were not visited. */
function placed(nodes, edges, depth, rows) {
  const found = edges.filter((edge) => edge.n).map((edge) => {
    const next = edge.to.flatMap((to) => nodes[to].edges);
    const below = depth > 1 ? placed(nodes, next, depth - 1, rows) : [];
    const y = below.length ? (below[0].y + below.at(-1).y) / 2 : (rows.n += 1) * ROW - ROW / 2;
    return { edge, y, below, isCut: next.length > 0 && depth <= 1 };
  });
  const n = edges.length - found.length;
  return n ? [...found, { edge: null, n, y: (rows.n += 1) * ROW - ROW / 2, below: [] }] : found;
}

function treeDrawing(nodes, step, texts, label) {
  const rows = { n: 0 };
  const first = placed(nodes, nodes[0].edges, drawnDepth(nodes), rows);
  const base = text(step.candidates[0]?.action, texts);
  const most = Math.max(1, ...nodes[0].edges.map((edge) => edge.n));
  const lines = svg("g", {}), marks = svg("g", {});
  let deepest = 1;
  const write = (x, y, said, style) => marks.append(svg("text", { x, y, class: style }, said));
  const draw = (one, depth, from) => {
    deepest = Math.max(deepest, depth);
    const at = { x: 72 + (depth - 1) * COLUMN, y: one.y };
    const isCommitted = depth === 1 && one.edge?.id === step.committed;
    const style = !one.edge ? " unvisited" : isCommitted ? " committed" : "";
    lines.append(svg("path", { d: `M${from.x},${from.y} H${from.bend} C${from.bend + 26},${from.y} ${at.x - 26},${at.y} ${at.x},${at.y}`, class: `branching${style}`, "stroke-width": one.edge ? 1 + 3 * one.edge.n / most : 1 }));
    if (!one.edge) {
      marks.append(svg("circle", { cx: at.x, cy: at.y, r: 3, class: "node unvisited" }));
      write(at.x + 8, at.y + 4, `${one.n} not visited`, "figures");
      return;
    }
    const { n, q } = one.edge;
    const said = text(one.edge.action, texts);
    const size = 4 + 7 * Math.sqrt(n / most);
    const value = typeof q === "number" ? Math.min(1, Math.max(0, q)) : 0;
    const ends = one.edge.to.map((to) => nodes[to].ended).filter((end) => typeof end === "number");
    const dot = svg("circle", { cx: at.x, cy: at.y, r: size, class: `node${style}`, "fill-opacity": 0.08 + 0.92 * value });
    dot.append(svg("title", {}, `${said.slice(0, 500)}: ${n} ${n === 1 ? "visit" : "visits"}, Q ${fixed(q)}`));
    marks.append(svg("circle", { cx: at.x, cy: at.y, r: size, class: "under" }), dot); // no line is seen through it
    const named = labelOf(said, said === base ? "" : base);
    write(at.x + size + 4, at.y - 4, shortened(named, 24), `action${style}`);
    write(at.x + size + 4, at.y + 12, `N ${n} · Q ${fixed(q, 2)}${ends.length ? ` · end ${ends.map((end) => fixed(end, 2)).join(", ")}` : ""}${one.isCut ? " · more below" : ""}`, "figures");
    for (const next of one.below) draw(next, depth + 1, { ...at, bend: at.x + LABEL }); // a line runs between the rows of a label
  };
  const start = { x: 12, y: first.length ? (first[0].y + first.at(-1).y) / 2 : ROW / 2 };
  for (const one of first) draw(one, 1, { ...start, bend: start.x });
  marks.append(svg("circle", { cx: start.x, cy: start.y, r: 5, class: "node here" }));
  const width = 72 + deepest * COLUMN, height = Math.max(ROW, rows.n * ROW);
  const root = svg("svg", { role: "img", "aria-label": label, class: "drawn", viewBox: `0 0 ${width} ${height}` }, lines, marks);
  root.style.width = `${width}px`; // as large as its text needs: it scrolls where there is less room
  return root;
}
