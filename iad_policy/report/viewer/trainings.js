"use strict";
/* Trainings: how a model's loss and the other figures went, what it was trained on, and the rounds of iad improve. */

const FIGURES = {
  reward: { title: "Reward of the episodes played", y: "mean reward" },
  loss: { title: "Loss", y: "loss" },
  kl: { title: "KL from the start", y: "KL", unit: "nat" },
  value_loss: { title: "Loss of the value model", y: "value loss" },
  rate: { title: "Learning rate", y: "learning rate" },
};
const ROWS = { epoch: "epochs", update: "updates", step: "steps" };
const unfolded = new Set();      // tables that a reader opened stay open while a training goes on

const exact = (value) => (typeof value === "number" ? plain(value, 4) : "-");
const axisOf = ({ y, unit }) => (unit ? `${y} (${unit})` : y);
const figure = (title, ...inside) => h("figure", {}, h("figcaption", {}, title), inside);

function remembered(name, title, ...inside) {
  const made = h("details", { open: unfolded.has(name) }, h("summary", {}, title), inside);
  made.addEventListener("toggle", () => (made.open ? unfolded.add(name) : unfolded.delete(name)));
  return made;
}

function training(group, place) {
  const inside = group.is_one
    ? trained(group.models[0], group.name)
    : [group.rounds ? rounds(group.rounds) : null, part("Models", overview(group.models)),
      group.models.map((model) => part(apart(model.name), trained(model, `${group.name}/${model.name}`)))];
  return h("section", { "aria-label": group.name, id: place || runs.length ? "" : "main" }, h("h1", {}, apart(group.name)), inside);
}

/* ---- a model ---- */

function about(model) {
  const kinds = { policy: "A policy", value: "A value model" };
  const what = model.recipe === "simulator" ? "A simulator" : kinds[model.head] ?? "A model";
  return `${what}, trained by ${apart(model.recipe)}.`;
}

function status(model) {
  const { unit, kept, stopped, planned, why } = model;
  if (!model.is_over) return h("p", { className: "warn" }, "The training is not complete. These are the figures so far. What it is trained on is written at its end.");
  if (!model.curves.length) return h("p", { className: "quiet" }, "The folder has no figures of the training, so there are no curves.");
  const of = planned === null ? "" : ` of ${count(planned)}`;
  if (stopped === null) return h("p", {}, `Trained for ${count(kept)}${of} ${ROWS[unit]}. The last one was kept.`);
  const best = kept === null ? "The parameters of the start were kept." : `${capital(unit)} ${count(kept)} was kept.`;
  return h("p", { className: "warn" }, `Stopped in ${unit} ${count(stopped)}${of}${why ? `: ${apart(why)}` : ""}. ${best}`);
}

const capital = (word) => word[0].toUpperCase() + word.slice(1);

function trained(model, name) {
  return [
    model.is_over ? h("p", { className: "quiet" }, about(model)) : null, status(model),
    model.curves.length ? h("div", { className: "training" }, h("div", {}, curves(model), values(model, name)), h("div", {}, facts(model, name))) : facts(model, name)];
}

function facts(model, name) {
  if (!model.is_over) return null;
  return [
    h("h3", {}, "Trained on"),
    h("dl", {}, model.facts.map(([label, said]) => [h("dt", {}, label), h("dd", {}, apart(said))])),
    remembered(`${name}: tasks`, `${count(model.tasks.length)} ${model.tasks.length === 1 ? "task" : "tasks"}`, h("p", { className: "quiet" }, model.tasks.map(apart).join(", ")))];
}

function marks(model, unit) {
  if (!model.is_over || unit !== model.unit) return [];
  const kept = model.kept === null ? [] : [{ x: model.kept, name: `kept: ${unit} ${model.kept}`, which: "kept", colour: "--good" }];
  return model.stopped === null ? kept : [...kept, { x: model.stopped, name: `stopped: ${unit} ${model.stopped}, not kept`, which: "not kept", colour: "--warn" }];
}

function curves(model) {
  const several = new Set(model.curves.map((one) => one.unit)).size > 1;
  return h("div", { className: "charts" }, model.curves.map((curve) => {
    const { title, y, unit } = FIGURES[curve.figure];
    const own = marks(model, curve.unit);
    const said = h("p", { className: "quiet" });
    const read = ([at, value]) => {
      const which = own.find((mark) => mark.x === at)?.which;
      said.textContent = `${capital(curve.unit)} ${count(at)}${which ? ` (${which})` : ""}: ${y} ${exact(value)}${unit ? ` ${unit}` : ""}`;
    };
    read(curve.points.find(([at]) => at === own[0]?.x) ?? curve.points.at(-1));
    const limits = typeof curve.limit === "number" ? [{ y: curve.limit, name: `limit: ${curve.limit} nat` }] : [];
    return figure(`${title}${several ? ` by ${curve.unit}` : ""}`,
      lineChart([{ name: y, points: curve.points }], { x: curve.unit, y: axisOf(FIGURES[curve.figure]), label: `${title} by ${curve.unit}`, marks: own, limits, span: 0, counts: true, onread: read }),
      said, curve.every > 1 ? h("p", { className: "quiet" }, `Each point is one ${curve.unit} of ${curve.every}.`) : null);
  }));
}

function values(model, name) {
  return Object.keys(ROWS).map((unit) => {
    const own = model.curves.filter((one) => one.unit === unit);
    if (!own.length) return null;
    const lines = new Map();
    own.forEach((curve, column) => curve.points.forEach(([at, value]) => {
      if (!lines.has(at)) lines.set(at, own.map(() => null));
      lines.get(at)[column] = value;
    }));
    const isMarked = unit === model.unit && model.stopped !== null;
    const headings = [unit, ...own.map((one) => axisOf(FIGURES[one.figure])), ...(isMarked ? ["kept"] : [])];
    const made = table(`Values by ${unit}, ${model.name}`, headings, [...lines].sort(([one], [other]) => one - other)
      .map(([at, row]) => [count(at), ...row.map(exact), ...(isMarked ? [at === model.stopped ? "no" : "yes"] : [])]));
    made.classList.add("tall");
    return remembered(`${name}: ${unit}`, `Values by ${unit}`, made);
  });
}

/* ---- several models ---- */

function overview(models) {
  return table("Models", ["model", "recipe", "environment", "trained", "loss", axisOf(FIGURES.kl), "ended"], models.map((model) => {
    const last = (name) => exact(model.curves.find((one) => one.figure === name && one.unit === model.unit)?.points.findLast(([at]) => at <= (model.kept ?? Infinity))?.[1]);
    const ended = model.is_over ? (model.why || model.stopped !== null ? "stopped early" : "as planned") : "not complete";
    const trainedFor = `${count(model.kept ?? 0)}${model.planned === null ? "" : ` of ${count(model.planned)}`} ${ROWS[model.unit]}`;
    return [apart(model.name), apart(model.recipe || "-"), apart(model.env || "-"), trainedFor, last("loss"), last("kl"), ended];
  }));
}

function rounds({ method, points, best }) {
  const chosen = points.find(([round]) => round === best);
  const title = "Mean reward on dev tasks by round";
  const marked = chosen ? [{ x: best, name: `chosen: round ${best}`, colour: "--good" }] : [];
  return [
    h("p", {}, `Rounds of ${apart(method)}. ${chosen ? `Round ${best} has the highest mean reward on dev tasks, ${fixed(chosen[1])}, so it was chosen.` : ""}`),
    h("div", { className: "overview rounds" },
      h("div", {}, h("div", { className: "charts" }, figure(title, lineChart([{ name: "mean reward", points }], { x: "round", y: "mean reward", label: title, marks: marked, counts: true })))),
      h("div", {}, table("Rounds", ["round", "mean reward on dev tasks", ""], points.map(([round, reward]) => [count(round), fixed(reward), round === best ? "chosen" : ""]))))];
}
