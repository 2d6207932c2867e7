"use strict";
/* The page of runs and trainings. All content is inserted as text, so nothing that an agent wrote becomes markup. */

function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "list") made[name] = value;
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/* ---- data source: embedded in this page, or fetched from the server ---- */

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function fileSource(data) {
  const chunks = new Map();
  let places = null;
  return {
    runs: async () => (data.run ? [await unpacked(data.run)] : []),
    trainings: async () => (data.trainings ? unpacked(data.trainings) : []),
    episodes: () => unpacked(data.episodes),
    episode: async (run, key) => {
      places ??= await unpacked(data.places);
      const place = places[key];
      if (place === undefined) return null;
      if (!chunks.has(place)) chunks.set(place, unpacked(data.chunks[place]));
      const { episodes, texts } = await chunks.get(place);
      return { ...episodes[key], texts };
    },
  };
}

function serverSource(data) {
  const get = async (path) => {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  return {
    runs: () => get("api/runs"),
    trainings: () => get("api/trainings"),
    episodes: (run, start) => get(`api/episodes/${run}/${start}`),
    episode: (run, key) => get(`api/episode/${run}/${key}`),
    version: () => get("api/version").then((now) => now.version),
    every: data.every_s * 1000,
  };
}

const data = JSON.parse(document.getElementById("data").textContent);
const source = document.body.dataset.kind === "report" ? fileSource(data) : serverSource(data);
let runs = [];
let groups = [];      // model folders, and folders of models
let rows = [];        // {run, row, name, label}: a column of the list of tasks
let tasks = new Map(); // by environment, id and seed: {task, seed, difficulty, instruction, cells: [episode or null per row]}
let shown = [];       // the tasks that match the filter
let unread = [];      // {run, start}: the episodes that are not in the list yet
let onread = null;    // draws what depends on the list, when more of it was read

/* ---- formatting ---- */

const fixed = (value, digits = 3) => (typeof value === "number" ? value.toFixed(digits) : "-");
const shortened = (said, n) => (said.length > n ? `${said.slice(0, n - 1)}…` : said);
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const signed = (value) => (typeof value === "number" ? `${value >= 0 ? "+" : ""}${value.toFixed(3)}` : "-");
const count = (value) => (typeof value === "number" ? Number(value.toFixed(1)).toLocaleString("en", { maximumFractionDigits: 1 }) : "-");
const interval = (two, digits = 2) => (two ? h("span", { className: "interval" }, ` [${two[0].toFixed(digits)}, ${two[1].toFixed(digits)}]`) : "");
const several = (value) => (Array.isArray(value) ? value.map(String).map(apart).join(", ") : apart(String(value ?? "")));

/* Text from outside before words of ours: an isolate keeps its bidi marks from changing their direction. What would end
   the isolate early is left out, and what the text leaves open is closed: iad_policy/texts.py does the same. */
function apart(said) {
  if (!/[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]|[\ud802-\ud803\ud83a-\ud83b]/.test(said)) return said;
  let kept = "";
  let open = 0;
  for (const one of said.replace(/[\n\r\x1c-\x1e\x85\u2028\u2029]/g, " ")) {
    if (one === "\u2069" && !open) continue;
    open += "\u2066\u2067\u2068".includes(one) ? 1 : one === "\u2069" ? -1 : 0;
    kept += one;
  }
  return `\u2068${kept}${"\u2069".repeat(open + 1)}`;
}

/* The items of each name that `by` gives them. */
function grouped(all, by) {
  const groups = new Map();
  for (const one of all) {
    const name = by(one);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(one);
  }
  return [...groups];
}

function usd(spent) {
  if (spent.n_unpriced) return spent.usd ? `$${spent.usd.toFixed(4)} and ${count(spent.n_unpriced)} calls without a known price` : "no known price";
  return spent.usd ? `$${spent.usd.toFixed(4)}` : "-";
}

const SPENDING = { prompt_tokens: "prompt token", completion_tokens: "completion token", verifications: "verification", simulations: "simulation", asks: "ask" };

function spentOn(spent) {
  const said = Object.entries(spent).filter(([axis]) => axis in SPENDING).map(([axis, n]) => plural(n, SPENDING[axis]));
  if (spent.n_cached) said.push("answered from the cache");
  if (spent.usd) said.push(usd(spent));
  return said.join(", ");
}

function tokens(spent, axis) {
  if (spent.n_unmetered) return spent[axis] ? `${count(spent[axis])} + unmetered` : "unmetered";
  return count(spent[axis] ?? 0);
}

function mark(episode) {
  if (!episode) return ["·", "quiet", "not run"];
  if (episode.error_kind) return ["!", "warn", `failed: ${episode.error_kind}`];
  if (!episode.is_scored) return ["…", "warn", `stopped: ${episode.cut}`];
  if (episode.success === 1) return ["✓", "good", "success"];
  if (episode.success === null) return [fixed(episode.reward, 2), "", "reward"];
  return ["✗", "bad", "no success"];
}

/* ---- the head: settings, tables and curves ---- */

/* A name of any length: beside figures, it takes no more than a part of the width. */
const wrapped = (name) => h("span", { className: "wrapped" }, name);

function table(caption, headings, lines) {
  return h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
    h("table", {},
      h("thead", {}, h("tr", {}, headings.map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", {}, lines.map((line) => h("tr", {}, line.map((cell, place) => h("td", { className: place ? "" : "name" }, place ? cell : wrapped(cell))))))));
}

const named = (run, metric) => (metric === "success" && run.success_rule ? `success (${run.success_rule})` : metric);

function scores(run) {
  const all = Object.entries(run.strategies);
  const has = (test) => all.some(([, one]) => test(one));
  const headings = ["strategy", named(run, "success"), "progress", "reward", "grounding accuracy"];
  const levels = [...new Set(all.flatMap(([, one]) => Object.keys(one.by_difficulty)))];
  if (levels.length) headings.push(`${named(run, "success")} ${levels.join("/")}`);
  headings.push("n");
  if (has((one) => one.n_errored)) headings.push("errored");
  if (has((one) => one.n_budget)) headings.push("budget spent");
  return table("Scores", headings, all.map(([name, one]) => {
    const cells = [name, ...["success", "progress", "reward"].map((metric) => [fixed(one[metric]), interval(one[`${metric}_95`])]), fixed(one.grounding)];
    if (levels.length) cells.push(levels.map((level) => fixed(one.by_difficulty[level]?.success, 2)).join(" / "));
    cells.push(count(one.n_episodes));
    if (has((other) => other.n_errored)) cells.push(h("span", { className: one.n_errored ? "warn" : "" }, count(one.n_errored)));
    if (has((other) => other.n_budget)) cells.push(count(one.n_budget));
    return cells;
  }));
}

function spending(run) {
  const axes = ["proposals", "verifications", "simulations", "asks", "tokens", "n_steps", "seconds"];
  const names = { n_steps: "steps", seconds: "seconds in calls" };
  const isPaid = Object.values(run.strategies).some((one) => one.usd || one.n_unpriced);
  return table("Spent", ["mean per episode", ...axes.map((axis) => names[axis] ?? axis), ...(isPaid ? ["dollars"] : [])],
    Object.entries(run.strategies).map(([name, one]) => [name, ...axes.map((axis) => (axis === "seconds" ? fixed(one[axis]) : axis === "tokens" ? tokens(one, axis) : count(one[axis]))), ...(isPaid ? [usd(one)] : [])]));
}

function byRole(run) {
  const lines = Object.entries(run.strategies).flatMap(([name, one]) => Object.entries(one.by_role).map(([role, spent]) => [
    name, role, count((spent.proposals ?? 0) + (spent.verifications ?? 0) + (spent.asks ?? 0)), count(spent.simulations ?? 0),
    tokens(spent, "prompt_tokens"), tokens(spent, "completion_tokens"), fixed(spent.seconds ?? 0), usd(spent)]));
  return table("Spent by role", ["mean per episode", "role", "calls", "simulations", "prompt tokens", "completion tokens", "seconds", "dollars"], lines);
}

function differences(run) {
  const tasksOf = (names) => (names.length ? h("details", {}, h("summary", {}, count(names.length)), h("p", { className: "quiet" }, names.map(apart).join(", "))) : "0");
  const all = Object.entries(run.differences);
  const only = new Set(all.map(([, one]) => one.baseline)).size === 1 ? all[0][1].baseline : "";
  return table("Differences", [only ? `strategy − ${only}` : "strategy − baseline", ...(only ? [] : ["baseline"]), named(run, "success"), "won", "lost", "p (Holm)", "MDE", "progress", "reward", "pairs"],
    all.map(([name, one]) => [
      name, ...(only ? [] : [wrapped(one.baseline)]), [signed(one.success), interval(one.success_95)], tasksOf(one.won), tasksOf(one.lost),
      one.p_holm !== null && one.p_holm < 0.001 ? "< 0.001" : fixed(one.p_holm), fixed(one.detectable_success),
      [signed(one.progress), interval(one.progress_95)], [signed(one.reward), interval(one.reward_95)], count(one.n_pairs)]));
}

/* What each strategy reaches at the baseline's mean spending per episode, and what the baseline's best value costs it. */
function atEqualSpending(run) {
  return Object.entries(run.matched ?? {}).flatMap(([agent, one]) => {
    const digits = one.axis === "tokens" ? 0 : 1;
    const spent = (value) => (typeof value === "number" ? value.toFixed(digits) : "…");
    const best = Math.max(...Object.values(one.costs).map((cost) => cost.level));
    const compared = (at) => [fixed(at.value), h("span", { className: "interval" }, ` (${signed(at.difference)}`, interval(at.difference_95), ")")];
    const lines = Object.entries(one.at).map(([name, found]) => {
      const [cost, own] = [one.costs[name], one.own?.[name]];
      return [name,
        ...found.map((at) => (!at ? "not reached" : name === one.baseline ? fixed(at.value) : compared(at))),
        own ? [`${spent(own.budget)}: `, ...compared(own)] : "",
        cost.spent === null ? "not reached" : [spent(cost.spent), h("span", { className: "interval" }, ` [${spent(cost.low)}, ${spent(cost.high)}]`)]];
    });
    const of = Object.keys(run.matched).length > 1 ? ` of ${agent}` : "";
    return [
      table(`At equal spending${of}`, [`${named(run, one.metric)}${of} at`, ...one.budgets.map((budget) => `${spent(budget)} ${one.axis}`), "its own", `${one.axis} for ${fixed(best)}`], lines),
      h("p", { className: "quiet" }, `Mean ${one.axis} per episode: those of ${one.baseline} with n = ${one.settings.join(", ")}. Interpolated between the n of each strategy, never extrapolated. In brackets: the difference to ${one.baseline}, with intervals of a paired bootstrap over ${plural(one.n_tasks, "task")}${one.n_left_out ? `; ${plural(one.n_left_out, "task")} without an episode of every row left out` : ""}.`),
    ];
  });
}

const flakyIn = (run) => Object.entries(run.passes ?? {}).filter(([, one]) => Object.keys(one.flaky).length);

function flaky(run) {
  const all = flakyIn(run).map(([name, one]) => [name, Object.entries(one.flaky)]);
  return folded(`Flaky tasks, which some seeds solve and others don't. ${all.map(([name, one]) => `${apart(name)}: ${count(one.length)}`).join("; ")}.`,
    all.map(([name, one]) => h("p", { className: "quiet" }, `${apart(name)}: ${one.map(([task, [n, of]]) => `${apart(task)} ${n}/${of}`).join(", ")}`)));
}

/* Why episodes are no success: a line per reason, the most frequent first. */
function whyFailed(run) {
  const holder = h("div", {});
  const draw = () => {
    const failed = [...run.lines.values()].filter((one) => one.why && !one.error_kind);
    const lines = grouped(failed, (one) => one.why).sort(([, a], [, b]) => b.length - a.length).map(([why, all]) => {
      const links = grouped(all, (one) => one.task).map(([task, own]) => [h("a", { href: link({ episodes: own.slice(0, 2).map((one) => [runs.indexOf(run), one.key]) }) }, task), " "]);
      const by = run.labels.map((label, row) => [label, all.filter((one) => one.row === row).length]).filter(([, n]) => n);
      return [h("div", {}, links.slice(0, 8), links.length > 8 ? folded(`${count(links.length - 8)} more`, links.slice(8)) : null),
        by.map(([label, n]) => (n > 1 ? `${apart(label)} ${count(n)}` : apart(label))).join(", "), h("div", { className: "said" }, apart(why))];
    });
    const listed = (some) => table("Why tasks failed", ["task", "failed with", "reason"], some);
    holder.replaceChildren(...(lines.length ? [h("h2", {}, "Why tasks failed"), listed(lines.slice(0, 20))] : []),
      ...(lines.length > 20 ? [folded(`${count(lines.length - 20)} more reasons`, listed(lines.slice(20)))] : []));
  };
  draw();
  run.onread.push(draw);
  return holder;
}

function failures(run) {
  const missing = Object.entries(run.strategies).filter(([, one]) => one.n_failed_verdicts).map(([name, one]) => `${count(one.n_failed_verdicts)} in ${name}`);
  const n = Object.values(run.strategies).reduce((sum, one) => sum + one.n_errored, 0);
  const holder = h("div", {});
  const draw = () => {
    const kinds = new Map();
    for (const one of run.lines.values()) {
      if (!one.error_kind) continue;
      const known = kinds.get(one.error_kind) ?? { n: 0, calls: 0, tokens: 0, first: one };
      kinds.set(one.error_kind, { ...known, n: known.n + 1, calls: known.calls + one.calls, tokens: known.tokens + one.tokens });
    }
    holder.replaceChildren(kinds.size ? table("Errors", ["error kind", "episodes", "calls", "tokens", "first error"], [...kinds].map(([kind, one]) =>
      [kind, count(one.n), count(one.calls), count(one.tokens), h("div", { className: "said" }, `${apart(one.first.task)}: ${one.first.error.slice(0, 500)}`)]))
      : h("p", { className: "quiet" }, n ? `${count(n)} ${n === 1 ? "episode" : "episodes"} ended in an error.` : "No episode ended in an error."));
  };
  draw();
  if (n) run.onread.push(draw);
  return [
    missing.length ? h("p", { className: "warn" }, `Verdicts are missing because the verifier failed: ${missing.join(", ")}. Each candidate shows the reason.`) : null,
    holder,
  ];
}

function legend(names) {
  return h("div", { className: "legend" }, names.map((name, place) => {
    const line = h("i", {});
    line.style.background = colour(place);
    return h("span", {}, line, wrapped(name));
  }));
}

function compared(run, { metric, axis }) {
  const one = run.comparisons.find((other) => other.metric === metric && other.axis === axis);
  if (!one) return h("p", { className: "quiet" }, "The curves share no range of budgets.");
  const heights = Object.entries(one.areas).map(([name, height]) => `${name} ${fixed(height)}`).join(", ");
  const crossed = one.crossings.map(([a, b, at]) => `${a} and ${b} cross at ${count(at)}`).join("; ");
  return h("p", { className: "quiet" }, `Mean ${named(run, metric)} from ${count(one.low)} to ${count(one.high)} ${axis}: ${heights}. ${crossed || "No curves cross"}.`);
}

function charts(run) {
  const box = h("div", { className: "charts" });
  const byStep = Object.entries(run.strategies).filter(([, one]) => one.progress_by_step.length)
    .map(([name, one]) => ({ name, points: one.progress_by_step.map((value, step) => [step, value]) }));
  if (run.curves.length) {
    const choices = { metric: [...new Set(run.curves.map((one) => one.metric))], axis: [...new Set(run.curves.map((one) => one.axis))] };
    const picked = { metric: "success", axis: "proposals" };
    const holder = h("div", {});
    const draw = () => {
      const lines = run.curves.filter((one) => one.metric === picked.metric && one.axis === picked.axis)
        .map((one) => ({ name: one.name, points: one.points.map((point) => [point.spent, point.value, ...point.interval, `n = ${point.setting}`]) }));
      const name = named(run, picked.metric);
      const label = `${name} against ${picked.axis} per episode`;
      holder.replaceChildren(lineChart(lines, { x: `${picked.axis} per episode`, y: name, label }), legend(lines.map((one) => one.name)), compared(run, picked));
    };
    const chooser = (what) => h("label", {}, what === "metric" ? "metric" : "spending",
      h("select", { onchange: (event) => { picked[what] = event.target.value; draw(); } }, choices[what].map((one) => h("option", {}, one))));
    draw();
    box.append(h("figure", {}, h("figcaption", {}, "Score by spending, for each n"), h("div", { className: "bar" }, chooser("metric"), chooser("axis")), holder));
  }
  if (byStep.length) {
    box.append(h("figure", {}, h("figcaption", {}, "Progress by step"),
      lineChart(byStep, { x: "step", y: "progress", label: "mean progress by step", counts: true }), legend(byStep.map((one) => one.name))));
  }
  return box;
}

/* What the verifier said of the action that ended an episode, against the success that was known afterwards. */
function verifierView(run) {
  const all = run.verifier_scores;
  const isOneVerifier = new Set(all.map((one) => one.verifier)).size === 1;
  const nameOf = (one) => `${isOneVerifier ? "" : `${one.verifier}: `}${one.rows.length > 1 ? "all strategies" : one.rows[0]}`;
  const holder = h("div", {});
  const draw = (one) => {
    const { auc, interval: range, n_pos: right, n_neg: wrong, ece } = one.evidence;
    const isShare = one.bins.every((bin) => bin.score >= 0 && bin.score <= 1);
    const bins = [{ name: "success", points: one.bins.map((bin) => [bin.score, bin.success, ...bin.success_95, `${plural(bin.n, "episode")}, success`]) }];
    const roc = [{ name: "successful", points: [[0, 0], ...one.roc.map((at) => [at.failed, at.successful, null, null, `score from ${plain(at.threshold)}`])] }];
    holder.replaceChildren(
      h("p", {}, `${plural(right + wrong, "episode")}: ${right} succeeded, ${wrong} failed. `,
        auc === null ? "Too few of one kind to tell the AUC (30 of each are needed)." : ["AUC ", h("b", {}, fixed(auc)), interval(range), "."],
        !right || !wrong ? null : ece === null ? " The scores are no probabilities." : [" Calibration error ", h("b", {}, fixed(ece)), "."]),
      h("div", { className: "charts" },
        h("figure", {}, h("figcaption", {}, "Reliability: success by score"),
          lineChart(bins, { x: "mean score of the verifier", y: "success rate", label: `success rate by score, ${nameOf(one)}`, shares: isShare }),
          folded("as a table", table("Reliability", ["mean score", "success", "episodes"], one.bins.map((bin) => [fixed(bin.score, 2), [fixed(bin.success, 2), interval(bin.success_95)], count(bin.n)])))),
        one.roc.length ? h("figure", {}, h("figcaption", {}, "ROC: right and wrong actions by threshold"),
          lineChart(roc, { x: "share of failed episodes that reach the score", y: "share of successful ones", label: `ROC curve, ${nameOf(one)}`, shares: true })) : null));
  };
  draw(all[0]);
  return [
    all.length > 1 ? h("div", { className: "bar" }, h("label", {}, "Episodes of", h("select", { onchange: (event) => draw(all[event.target.selectedIndex]) }, all.map((one) => h("option", {}, nameOf(one)))))) : null,
    holder,
    h("p", { className: "quiet" }, "Only episodes whose last action ended them and was verified: of rejected candidates the truth is not known. Committed actions have good scores, so a verifier tells less among them than among all candidates. Bars: 95 % intervals (Wilson), where each task counts once. Calibration error: mean distance of score and success over ten ranges of scores. On the dashed diagonal of the first chart, a score is the probability of success; on that of the second, it tells nothing."),
  ];
}

const part = (title, ...inside) => h("div", {}, h("h2", {}, title), inside);

function head(run) {
  const curves = charts(run);
  run.onread = [];
  const dataName = run.data?.name ? `, ${apart(run.data.name)} data ${run.data.digest}` : "";
  return h("section", { "aria-label": run.name },
    h("h1", {}, runs.length > 1 ? `${apart(run.name)}: ${run.env}` : run.env),
    h("p", {}, `${run.split ? `Split ${apart(run.split)}, ` : ""}${run.n_tasks} ${run.n_tasks === 1 ? "task" : "tasks"}, seed ${several(run.seed)}${dataName}. Agent ${several(run.agent)}; verifier ${several([run.verifier].flat().map((one) => one || "none"))}; simulator ${run.simulator}.`),
    h("p", {}, `Budget: ${run.equal_on}.`),
    run.notes.length ? h("ul", { className: "quiet" }, run.notes.map((note) => h("li", {}, apart(note)))) : null,
    run.alarms.map((alarm) => h("p", { className: "banner" }, apart(alarm))),
    Object.entries(run.verifiers ?? { "": run.label }).filter(([name]) => (run.informations?.[name] ?? run.information) !== "oracle").map(([name, label]) =>
      h("p", { className: "quiet" }, name ? `${apart(name)}: ${label}` : label)),
    run.is_complete ? null : h("p", { className: "warn" }, "The run is not complete. These are the results so far."),
    h("div", { className: "overview" },
      part("Scores", scores(run), flakyIn(run).length ? flaky(run) : null),
      Object.keys(run.differences).length ? part("Differences on the same tasks", differences(run)) : null,
      Object.keys(run.matched ?? {}).length ? part("At equal spending", atEqualSpending(run)) : null,
      part("Spending", spending(run), h("details", {}, h("summary", {}, "By role"), byRole(run))),
      curves.hasChildNodes() ? Object.assign(part("Curves", curves), { className: run.curves.length ? "" : "aside" }) : null,
      run.verifier_scores.length ? part("The verifier against the truth", verifierView(run)) : null,
      whyFailed(run),
      part("Errors", failures(run), h("p", { className: "quiet" }, "[low, high]: 95 % intervals. p: exact McNemar test on success (several seeds: sign-flip test over tasks), adjusted by Holm. MDE: the smallest true difference that this number of tasks detects with 80 % power."))));
}

/* ---- the list of tasks and its filters ---- */

const TESTS = {
  all: ["all", () => true],
  disagree: ["strategies disagree", (task) => new Set(task.cells.filter((one) => one?.is_scored).map((one) => one.success)).size > 1],
  solved: ["some success", (task) => task.cells.some((one) => one?.success === 1)],
  missed: ["no success", (task) => task.cells.every((one) => one?.success !== 1)],
  errors: ["errors", (task) => task.cells.some((one) => one?.error_kind)],
  cut: ["stopped by a budget", (task) => task.cells.some((one) => one?.cut)],
};

function gather() {
  rows = runs.flatMap((run, place) => run.labels.map((label, row) => ({ run: place, row, label, name: runs.length > 1 ? `${run.name}: ${label}` : label })));
  tasks = new Map();
  runs.forEach((run) => { run.lines = new Map(); });
  unread = runs.map((run, place) => ({ run: place, start: 0 }));
}

const nameOf = (run, line) => JSON.stringify([runs[run].env, line.task, line.seed]);

function add(place, { lines, instructions }) {
  const run = runs[place];
  const first = rows.findIndex((one) => one.run === place);
  for (const line of lines) {
    const name = nameOf(place, line);
    if (!tasks.has(name)) tasks.set(name, { task: line.task, seed: line.seed, difficulty: line.difficulty, instruction: "", cells: rows.map(() => null) });
    const task = tasks.get(name);
    task.instruction ||= instructions[line.task] ?? "";
    task.cells[first + line.row] = line;
    run.lines.set(line.key, line);
  }
}

/* Read the next part of the list of each run. */
async function readMore() {
  const parts = await Promise.all(unread.map(async ({ run, start }) => ({ run, part: await source.episodes(run, start) })));
  unread = [];
  for (const { run, part } of parts) {
    add(run, part);
    if (part.next !== null) unread.push({ run, start: part.next });
    runs[run].onread?.forEach((draw) => draw());
  }
  onread?.();
}

async function readAll() {
  while (unread.length) await readMore();
}

function list(view) {
  const all = () => [...tasks.values()];
  const levels = [...new Set(runs.flatMap((run) => Object.values(run.strategies).flatMap((one) => Object.keys(one.by_difficulty))))].filter((one) => one !== "unmarked");
  const seeds = new Set(runs.flatMap((run) => run.seed)).size > 1;
  const told = new Set(all().map((one) => one.instruction)).size > 1;
  const body = h("tbody", {});
  const said = h("span", { className: "quiet", role: "status" });
  const more = h("button", { hidden: true, onclick: () => { limit += 500; draw(); } }, "More");
  let limit = 500;
  const draw = () => {
    const text = view.text.toLowerCase();
    shown = all().filter((one) => TESTS[view.show][1](one) && (!view.level || one.difficulty === view.level) && `${one.task}\n${one.instruction}`.toLowerCase().includes(text));
    body.replaceChildren(...shown.slice(0, limit).map((one) => h("tr", {},
      h("td", {}, h("span", { className: "task" }, one.task), told ? h("p", { className: "told-here", "aria-hidden": "true" }, one.instruction) : null), seeds ? h("td", {}, String(one.seed)) : null, h("td", { className: "quiet" }, one.difficulty),
      one.cells.map((episode, column) => {
        const [sign, style, title] = mark(episode);
        const what = `${one.task}, ${rows[column].name}: ${title}`;
        return h("td", {}, episode ? h("a", { href: link({ episodes: [[rows[column].run, episode.key]] }), className: style, title: what, "aria-label": what }, `${sign} ${fixed(episode.progress, 2)}`) : "·");
      }), told ? h("td", { className: "told", title: one.instruction }, one.instruction) : null)));
    const n = runs.reduce((sum, run) => sum + run.n_recorded, 0);
    const nRead = runs.reduce((sum, run) => sum + run.lines.size, 0);
    said.textContent = `${count(shown.length)} of ${count(tasks.size)} ${tasks.size === 1 ? "task" : "tasks"}${unread.length ? `, reading: ${count(nRead)} of ${count(n)} episodes so far` : ""}`;
    more.hidden = shown.length <= limit;
  };
  onread = draw;
  const change = (name) => (event) => {
    view[name] = event.target.value;
    limit = 500;
    history.replaceState(null, "", link({ view }));
    draw();
  };
  const choose = (name, options, label) => h("label", {}, label,
    h("select", { onchange: change(name) }, options.map(([value, text]) => h("option", { value, selected: view[name] === value }, text))));
  draw();
  return h("section", { id: "main" },
    h("h2", {}, "Episodes"),
    h("div", { className: "bar" },
      choose("show", Object.entries(TESTS).map(([name, [text]]) => [name, text]), "Show"),
      levels.length ? choose("level", [["", "all"], ...levels.map((one) => [one, one])], "Difficulty") : null,
      h("label", {}, "Task", h("input", { type: "search", id: "search", value: view.text, oninput: change("text"), placeholder: told ? "part of its id or text" : "part of its id" })), said),
    h("div", { className: "scroll tasks", tabIndex: 0, role: "region", "aria-label": "Tasks" },
      h("table", {}, h("thead", {}, h("tr", {}, ["task", ...(seeds ? ["seed"] : []), "", ...rows.map((one) => wrapped(one.name))].map((one) => h("th", { scope: "col" }, one)), told ? h("th", { scope: "col", className: "told" }, "instruction") : null)), body)),
    more, h("p", { className: "quiet" }, `✓ ${[...new Set(runs.map((run) => named(run, "success")))].join(" or ")}, ✗ no success, ! failed with an error. The number is the progress. Click an episode to see its steps. Keys: `, h("kbd", {}, "/"), " search, in an episode ", h("kbd", {}, "←"), " ", h("kbd", {}, "→"), " steps, ", h("kbd", {}, "↑"), " ", h("kbd", {}, "↓"), " tasks, ", h("kbd", {}, "Esc"), " back."));
}

/* ---- the step viewer ---- */

const text = (value, texts) => (value && typeof value === "object" && "$" in value ? texts[value.$] : value ?? "");
const LONG = 400;
const PAGE = 6000; // characters of an observation that are shown at once
const folded = (title, ...inside) => h("details", {}, h("summary", {}, title), inside);

function observation(value, texts, className = "") {
  if (value?.picture) return h("img", { src: text(value.picture, texts), alt: "observation", loading: "lazy" });
  const plainText = text(value, texts);
  return h("pre", { className }, plainText.includes(" [SEP] ") ? plainText.split(" [SEP] ").join("\n") : plainText);
}

const spoken = (state, texts) => state.said.map(([role, words]) => h("p", { className: "messages" }, h("b", {}, `${role}: `), text(words, texts)));
const cell = (value) => h("td", {}, value.length > PAGE ? folded(`${count(value.length)} characters`, value) : value);

function called(state, texts) {
  const changed = text(state.changed, texts);
  return [
    h("table", { className: "calls" }, h("tr", {}, h("th", {}, "call"), h("th", {}, "result")),
      state.calls.map(([call, result]) => h("tr", {}, cell(text(call, texts)), cell(text(result, texts))))),
    h("p", { className: "quiet" }, changed ? `Changed: ${changed}` : "Changed nothing."),
  ];
}

function seen(state, texts, title) {
  if (!state) return h("p", { className: "quiet" }, `${title}: not recorded.`);
  const parts = Object.entries(state.parts).filter(([, value]) => value?.picture || text(value, texts) !== "");
  const info = Object.entries(state.info);
  return h("div", { className: "seen" },
    h("div", { className: "bar" }, h("b", {}, title), state.done ? h("span", { className: "chip" }, "the episode ends") : null),
    state.picture ? h("img", { src: text(state.picture, texts), alt: "the page as rendered", loading: "lazy" }) : null,
    state.said ? spoken(state, texts) : null,
    state.calls ? called(state, texts) : null,
    parts.map(([name, value]) => ((name && state.picture) || state.calls || state.said || text(value, texts).length > PAGE ? folded(name || "observation", observation(value, texts)) : [name ? h("p", { className: "quiet" }, name) : null, observation(value, texts)])),
    info.length ? folded("info", h("dl", {}, info.map(([name, value]) => [h("dt", {}, name), h("dd", {}, text(value, texts))]))) : null);
}

function scoreOf(verdict, bounds) {
  const score = typeof verdict.score === "number" ? verdict.score : null;
  const passed = verdict.passed === true ? h("span", { className: "chip" }, "passed") : verdict.passed === false ? h("span", { className: "chip" }, "not passed") : null;
  return h("div", { className: "score" }, "score ", h("b", {}, score === null ? String(verdict.score) : score.toFixed(3)),
    score === null || bounds[1] <= bounds[0] ? null : h("meter", { min: bounds[0], max: bounds[1], value: score, "aria-label": "score among the candidates" }), passed);
}

function action(said, first) {
  const whole = h("pre", { className: "action" }, said);
  if (isMarkup(said) && isMarkup(first) && said !== first) return folded(`${changes(said, first)}, against candidate 1`, whole);
  return said.length > LONG ? folded(isMarkup(said) ? labelOf(said) : `action, ${plural(said.length, "character")}`, whole) : whole;
}

function exchangeView(exchange, texts) {
  const cached = exchange.cached_tokens === null ? "" : `, ${count(exchange.cached_tokens)} prompt tokens from the server's cache`;
  return [
    folded("prompt, as sent", exchange.prompt.map((message) => [h("p", { className: "quiet" }, message.role), h("pre", {}, text(message.text, texts))])),
    folded(`answer, as sampled${exchange.finish === "stop" ? "" : `, ended by ${exchange.finish}`}`,
      [h("pre", {}, text(exchange.answer, texts)), h("p", { className: "quiet" }, apart(exchange.sampling) + cached)])];
}

function card(one, place, step, texts, bounds) {
  const isChosen = one.id === step.committed;
  const isCommitted = isChosen && !step.is_fallback;
  const verdict = one.verdict;
  return h("article", { className: `card${isCommitted ? " committed" : ""}${one.error ? " bad-one" : ""}`, "aria-label": `candidate ${place + 1}` },
    h("header", {}, h("b", {}, `Candidate ${place + 1}`),
      h("span", {}, one.ahead ? h("span", { className: "chip" }, "in simulation") : null, isCommitted ? h("span", { className: "chip committed" }, "committed") : isChosen ? h("span", { className: "chip" }, "replaced by a fallback") : null)),
    one.preview?.picture ? h("img", { src: text(one.preview.picture, texts), alt: "the page as rendered", loading: "lazy" }) : null,
    text(one.action, texts) ? action(text(one.action, texts), place ? text(step.candidates[0].action, texts) : "") : null,
    one.error ? h("p", { className: "bad" }, text(one.error, texts)) : null,
    verdict ? [scoreOf(verdict, bounds), h("p", {}, text(verdict.critique, texts))] : h("p", { className: "quiet" }, "not verified"),
    one.thought ? h("p", { className: "quiet" }, text(one.thought, texts)) : null,
    one.feedback ? folded("feedback to the agent", h("pre", {}, text(one.feedback, texts))) : null,
    (one.exchanges || []).map((exchange) => exchangeView(exchange, texts)),
    verdict && Object.keys(verdict.details).length ? folded("parts of the score", h("dl", {}, Object.entries(verdict.details).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]))) : null,
    one.preview ? folded("preview: the simulated next state", seen({ ...one.preview, picture: null }, texts, "Preview")) : null,
    one.spent && spentOn(one.spent) ? h("p", { className: "quiet" }, spentOn(one.spent)) : null);
}

/* A search tree: at each state the actions that were considered there, with their visits and their mean value. */
function treeView(nodes, step, texts) {
  const most = Math.max(1, ...nodes.flatMap((node) => node.edges.map((edge) => edge.n)));
  const branch = (edge, depth) => {
    const isCommitted = depth === 0 && edge.id === step.committed;
    const said = text(edge.action, texts);
    const ends = edge.to.filter((to) => nodes[to].ended !== undefined).map((to) => fixed(nodes[to].ended, 2));
    const row = h("div", { className: `branch${isCommitted ? " committed" : ""}${edge.n ? "" : " quiet"}` },
      h("code", { title: said }, said.length > 90 ? `${said.slice(0, 90)}…` : said),
      h("span", { className: "figures" },
        isCommitted ? h("span", { className: "chip committed" }, "committed") : null,
        h("meter", { min: 0, max: most, value: edge.n, "aria-label": "visits" }),
        `N ${edge.n} · Q ${fixed(edge.q, 2)} · rank ${fixed(edge.rank, 2)}`,
        typeof edge.score === "number" ? ` · score ${fixed(edge.score, 2)}` : "",
        ends.length ? ` · ended with ${ends.join(", ")}` : ""));
    const below = edge.to.flatMap((to) => nodes[to].edges);
    return h("li", {}, below.length ? h("details", { open: depth < 1 }, h("summary", {}, row), h("ul", {}, below.map((one) => branch(one, depth + 1)))) : row);
  };
  const n = nodes.reduce((sum, node) => sum + node.edges.length, 0);
  const size = `${plural(nodes.length, "state")}, ${plural(n, "action")}`;
  return [
    h("figure", {}, h("figcaption", {}, `Search tree: ${size}`),
      h("p", { className: "quiet" }, "N: visits of an action, the size of its circle. Q: mean value of its visits, how full its circle is. End: the value of a simulated episode that ended there."),
      h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Search tree" }, treeDrawing(nodes, step, texts, `Search tree of ${size}; the same as a list follows`))),
    h("details", { className: "tree" },
      h("summary", {}, "the search tree as a list"),
      h("p", { className: "quiet" }, "N: visits of an action. Q: mean value of its visits. Rank: its place in the ranking, 1 is the best. Score: the verifier's."),
      h("ul", {}, nodes[0].edges.map((edge) => branch(edge, 0)))),
  ];
}

/* What the record says of the choice: how the committed action compares with the others. */
function reasons(step) {
  const own = step.candidates.filter((one) => !one.ahead && !one.error);
  const chosen = own.find((one) => one.id === step.committed);
  const found = [];
  for (const nodes of step.trees || []) {
    const edges = nodes[0].edges;
    const edge = edges.find((one) => one.id === step.committed);
    if (!edge) continue;
    const visits = edges.reduce((sum, one) => sum + one.n, 0);
    const most = (what) => edges.filter((one) => one.n && one[what] >= edge[what]).length;
    const rank = (what, name) => (edge.n ? [`, the ${name}`, `, the ${name} with another`][most(what) - 1] ?? "" : "");
    found.push(`${edge.n} of ${plural(visits, "visit")} at the root${rank("n", "most")}; mean value ${fixed(edge.q)}${rank("q", "highest")}.`);
    const best = (start) => {
      let value = -Infinity;
      const todo = [...start];
      while (todo.length) {
        const node = nodes[todo.pop()];
        if (typeof node.ended === "number") value = Math.max(value, node.ended);
        todo.push(...node.edges.flatMap((one) => one.to));
      }
      return value;
    };
    const [here, any] = [best(edge.to), best([0])];
    if (here > -Infinity) found.push(`The best simulated end behind it is valued ${fixed(here)}${here === any ? ", the highest of the tree" : `; the highest of the tree is ${fixed(any)}`}.`);
  }
  const scoreOfOne = (one) => (typeof one.verdict?.score === "number" ? one.verdict.score : null);
  const scored = own.filter((one) => scoreOfOne(one) !== null);
  if (chosen && scored.includes(chosen) && scored.length > 1) {
    const score = scoreOfOne(chosen);
    const higher = scored.filter((one) => scoreOfOne(one) > score).length;
    const equal = scored.filter((one) => scoreOfOne(one) === score);
    const others = scored.map(scoreOfOne).filter((one) => one < score);
    const place = equal.length === 1 ? "" : equal[0] === chosen ? `, the first of ${equal.length} with this score` : `, one of ${equal.length} with this score`;
    if (higher) found.push(`Its score, ${fixed(score)}, is not the highest: ${higher} of ${scored.length} ${higher === 1 ? "has" : "have"} a higher one.`);
    else found.push(`It has the highest score of ${scored.length} candidates: ${fixed(score)}${place}${others.length ? `; the next is ${fixed(Math.max(...others))}` : ""}.`);
  }
  const votes = step.votes[step.committed] ?? 0;
  if (chosen && own.length > 1 && votes > 1) found.push(`${votes === own.length ? `All ${votes}` : `${votes} of ${own.length}`} candidates are this action, or lead to the same result.`);
  if (chosen && own.length === 1 && !step.trees && !step.attempts) found.push("It is the only candidate.");
  if (step.attempts && !step.attempts.some((one) => one.ids.includes(step.committed))) found.push(`It was proposed after ${plural(step.attempts.length, "attempt")} in simulation.`);
  if (step.attempts?.some((one) => one.ids[0] === step.committed)) found.push(`It begins attempt ${step.attempts.findIndex((one) => one.ids[0] === step.committed) + 1}.`);
  return found;
}

/* Simulated attempts: their actions, whether they ended, and what was said of them. */
function attemptsView(step, texts, bounds) {
  const named = new Map(step.candidates.map((one, place) => [one.id, [one, place]]));
  return step.attempts.map((attempt, number) => {
    const own = attempt.ids.map((id) => named.get(id));
    const verdict = own.at(-1)[0].verdict;
    const said = attempt.passed === true ? ["passed", "good"] : attempt.passed === false ? ["failed", "bad"] : text(attempt.evaluation, texts) ? ["unreadable", "warn"] : null;
    const chosen = own[0][0].id === step.committed;
    return h("article", { className: `card attempt${chosen ? " committed" : ""}`, "aria-label": `attempt ${number + 1}` },
      h("header", {}, h("b", {}, `Attempt ${number + 1} in simulation`),
        h("span", {}, chosen ? h("span", { className: "chip committed" }, "committed") : null, said ? h("span", { className: `chip ${said[1]}` }, `evaluation: ${said[0]}`) : null, h("span", { className: "chip" }, attempt.over ? "came to an end" : "did not end"))),
      h("ol", {}, own.map(([one]) => h("li", {}, one.error && !text(one.action, texts) ? h("span", { className: "bad" }, shortened(text(one.error, texts), 80)) : h("code", {}, labelOf(text(one.action, texts), "", 160))))),
      verdict ? [scoreOf(verdict, bounds), h("p", {}, text(verdict.critique, texts))] : h("p", { className: "quiet" }, "not verified"),
      text(attempt.evaluation, texts) ? folded("evaluation", h("pre", {}, text(attempt.evaluation, texts))) : null,
      folded(`${plural(own.length, "action")} in full`, own.map(([one, place]) => card(one, place, step, texts, bounds))));
  });
}

function stepView(step, texts, rule) {
  const numbers = step.candidates.map((one) => one.verdict?.score).filter((one) => typeof one === "number");
  const bounds = numbers.length ? [Math.min(0, ...numbers), Math.max(1, ...numbers)] : [0, 0];
  const tried = new Set((step.attempts || []).flatMap((one) => one.ids));
  const cards = (isShown) => step.candidates.map((one, place) => (isShown(one) ? card(one, place, step, texts, bounds) : null)).filter(Boolean);
  const own = cards((one) => !tried.has(one.id) && !(step.trees && one.ahead));
  const ahead = step.trees ? cards((one) => one.ahead) : [];
  const asked = step.attempts?.some((one) => text(one.evaluation, texts)) ? step.asked.filter((one) => one.role !== "evaluator") : step.asked;
  const why = step.is_fallback ? [] : reasons(step);
  return [
    seen(step.before, texts, "Before"),
    step.cut ? h("p", { className: "warn" }, `Stopped early by ${step.cut}.`) : null,
    h("h3", {}, step.candidates.length ? plural(step.candidates.length, "candidate") : "Action from an earlier plan, without a new proposal"),
    step.action === null ? h("p", { className: "warn" }, "No action was committed: the episode stopped here.") : h("p", {}, step.is_fallback ? "Committed as fallback, as no candidate was an action: " : "Committed: ", h("code", {}, labelOf(text(step.action, texts), "", 300)), step.reward ? ` · reward ${fixed(step.reward)}` : ""),
    why.length ? h("p", { className: "why" }, h("b", {}, "Why: "), why.join(" ")) : null,
    rule && step.candidates.length ? h("p", { className: "quiet" }, `The rule: ${rule}`) : null,
    (step.trees || []).map((tree) => treeView(tree, step, texts)),
    step.attempts ? h("div", { className: "candidates" }, attemptsView(step, texts, bounds)) : null,
    own.length ? h("div", { className: "candidates" }, own) : null,
    ahead.length ? folded("candidates in simulation", h("div", { className: "candidates" }, ahead)) : null,
    grouped(asked, (one) => JSON.stringify([one.role, one.source])).map(([, all]) => folded(`${all[0].role} (${apart(all[0].source)})${all.length > 1 ? `, ${all.length} texts` : ""}`, all.map((one) => h("pre", {}, text(one.text, texts))))),
    step.after ? folded("next state", seen(step.after, texts, "After")) : null,
  ];
}

/* The parts of a page's markup, each an opening tag with the text after it, and how often each occurs. */
function partsOf(markup) {
  const parts = new Map();
  for (const part of markup.split(/(?=<)/)) {
    const said = part.replace(/^<\/[^>]*>/, "").trim();
    if (said) parts.set(said, (parts.get(said) ?? 0) + 1);
  }
  return parts;
}

/* What of a page differs from an earlier one: how many parts are new, how many are gone, and the first text among them. */
function changes(said, before) {
  const [old, now] = [partsOf(before), partsOf(said)];
  const only = (from, other) => [...from].filter(([part, n]) => n > (other.get(part) ?? 0)).map(([part, n]) => [part, n - (other.get(part) ?? 0)]);
  const [added, removed] = [only(now, old), only(old, now)];
  if (!added.length && !removed.length) return "HTML, unchanged";
  const sum = (parts) => parts.reduce((total, [, n]) => total + n, 0);
  const words = (parts) => parts.map(([part]) => part.replace(/^<[^>]*>?/, "").trim()).find(Boolean);
  const [first, lost] = [words(added), words(removed)];
  const what = first ? `: ${apart(first.slice(0, 40))}` : lost ? `, without: ${apart(lost.slice(0, 40))}` : "";
  return `HTML, +${sum(added)} −${sum(removed)} parts${what}`;
}

const isMarkup = (said) => /^\s*</.test(said);

/* An action's label. Of a page it is what changed since an earlier one, or its title: its markup begins like that of any other. */
function labelOf(said, before = "", n = 60) {
  if (!said) return "(nothing)";
  if (!isMarkup(said)) return apart(said.slice(0, n));
  if (isMarkup(before)) return changes(said, before);
  const title = new DOMParser().parseFromString(said, "text/html").title.trim();
  return `${title ? `${apart(title.slice(0, 40))}, ` : ""}HTML, ${plural(said.length, "character")}`;
}

function side(place, loaded, view) {
  const { run, line, episode } = loaded;
  const title = `${apart(line.task)}${runs.length > 1 ? `, ${apart(runs[run].name)}` : ""}: ${runs[run].labels[line.row]}`;
  const [sign, style, said] = mark(line);
  const box = h("section", { "aria-label": title },
    h("h2", {}, title),
    h("p", {}, h("span", { className: style }, `${sign} ${said}`), ` · progress ${fixed(line.progress)} · reward ${fixed(line.reward)} · ${line.n_steps} ${line.n_steps === 1 ? "step" : "steps"}${line.difficulty ? ` · ${apart(line.difficulty)}` : ""} · ended: ${apart(line.stop || "not yet")}${line.cut ? ` (${apart(line.cut)})` : ""}`),
    line.why && !line.error ? h("p", { className: "unsolved" }, h("b", {}, "Not solved: "), apart(line.why)) : null,
    line.error ? h("p", { className: "warn" }, line.error) : null);
  if (!episode) {
    box.append(h("p", { className: "quiet" }, "This page does not contain the steps of this episode. Use iad view to see them."));
    return box;
  }
  if (episode.damaged) {
    box.append(h("p", { className: "warn" }, episode.damaged));
    return box;
  }
  if (episode.traceback) box.append(folded("traceback", h("pre", {}, episode.traceback)));
  const step = episode.steps[Math.min(view.step, episode.steps.length - 1)];
  box.append(
    h("p", { className: "instruction" }, h("b", {}, text(episode.instruction, episode.texts))),
    h("ol", { className: "steps" }, episode.steps.map((one, place) => h("li", {}, h("button", {
      "aria-current": one === step ? "step" : null, onclick: () => go({ ...view, step: one.index }),
    }, one.action === null ? `${one.index + 1} stopped` : `${one.index + 1} ${labelOf(text(one.action, episode.texts), text(episode.steps[place - 1]?.action, episode.texts))}`)))),
    ...(step ? stepView(step, episode.texts, runs[run].rules[runs[run].labels[line.row]]) : [h("p", { className: "quiet" }, "The episode has no step.")]).flat(Infinity).filter(Boolean));
  return box;
}

async function loadSide([run, key]) {
  const own = runs[run];
  if (!own) return null;
  const known = own.lines.get(key);
  const episode = known || unread.length ? await source.episode(run, key).catch((error) => {
    if (known) throw error;
    return null;
  }) : null;
  const line = known ?? episode?.line;
  return line ? { run, line, episode } : null;
}

async function viewer(view) {
  const sides = (await Promise.all(view.episodes.map(loadSide))).filter(Boolean);
  if (!sides.length) return h("section", { id: "main" }, h("p", { className: "warn" }, "This run has no such episode."), h("p", {}, h("a", { href: link({}) }, "All episodes")));
  const own = sides[0].line;
  const others = (tasks.get(nameOf(sides[0].run, own))?.cells ?? []).map((episode, column) => [episode, rows[column]]).filter(([episode]) => episode && episode !== own);
  const comparedKey = view.episodes[1]?.[1] ?? "";
  return h("section", { id: "main" },
    h("div", { className: "bar" }, h("a", { href: link({}) }, "← All episodes"),
      others.length ? h("label", {}, "Compare with", h("select", { id: "compared", onchange: (event) => {
        const chosen = others.find(([episode]) => episode.key === event.target.value);
        go({ ...view, episodes: chosen ? [view.episodes[0], [chosen[1].run, chosen[0].key]] : [view.episodes[0]] });
      } }, h("option", { value: "" }, "nothing"), others.map(([episode, row]) => h("option", { value: episode.key, selected: episode.key === comparedKey }, `${mark(episode)[0]} ${row.name}`)))) : null,
      h("span", { className: "quiet" }, h("kbd", {}, "←"), " ", h("kbd", {}, "→"), " steps, ", h("kbd", {}, "↑"), " ", h("kbd", {}, "↓"), " tasks")),
    h("div", { className: `sides${sides.length > 1 ? " two" : ""}` }, sides.map((one, place) => side(place, one, view))));
}

/* ---- the current view: kept in the address, so that it can be shared ---- */

const START = { show: "all", level: "", text: "" };

function link({ episodes, step, view }) {
  if (episodes?.length) return `#${new URLSearchParams({ episode: episodes.map((one) => one.join(".")).join(","), step: step ?? 0 })}`;
  const said = Object.entries(view ?? {}).filter(([name, value]) => name in START && value !== START[name]);
  return `#${new URLSearchParams(said)}`;
}

function here() {
  const said = new URLSearchParams(location.hash.slice(1));
  if (said.get("episode")) {
    const episodes = said.get("episode").split(",").slice(0, 2).map((one) => one.split(".")).map(([run, key]) => [Number(run), key]);
    return { episodes, step: Math.max(0, Number(said.get("step")) || 0) };
  }
  const view = { ...START, ...Object.fromEntries([...said].filter(([name]) => name in START)) };
  if (!(view.show in TESTS)) view.show = "all";
  return { view };
}

function go(place) {
  if (link(place) === location.hash) return;
  history.pushState(null, "", link(place));
  draw();
}

let drawing = 0;

async function draw() {
  const turn = ++drawing;
  const place = here();
  const page = document.getElementById("page");
  let content;
  try {
    onread = null;
    if (place.episodes) content = [await viewer(place)];
    else content = [...groups.map(training), ...runs.map(head), ...(runs.length ? [list(place.view)] : [])];
  } catch (error) {
    content = [h("p", { className: "banner" }, `This page could not be shown: ${error.message}`)];
  }
  if (turn !== drawing) return;
  page.replaceChildren(...content);
  document.title = `${place.episodes ? "Episode, " : ""}${[...groups, ...runs].map((one) => apart(one.name)).join(", ")} · iad`;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(input|select|textarea)$/i.test(event.target.tagName)) return;
  const place = here();
  if (event.key === "/" && !place.episodes) {
    event.preventDefault();
    document.getElementById("search")?.focus();
  }
  if (!place.episodes) return;
  const last = document.querySelectorAll(".steps").length ? Math.max(...[...document.querySelectorAll(".steps")].map((one) => one.children.length)) - 1 : 0;
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };
  if (event.key === "Escape") { history.pushState(null, "", link({})); draw(); }
  if (!(event.key in moves)) return;
  event.preventDefault();
  if (event.key.endsWith("t") && event.key !== "ArrowUp") go({ ...place, step: Math.min(last, Math.max(0, Math.min(place.step, last) + moves[event.key])) });
  else {
    const pool = shown.length ? shown : [...tasks.values()];
    const [run, key] = place.episodes[0];
    const at = pool.findIndex((one) => one.cells.some((episode) => episode?.key === key));
    const column = at < 0 ? -1 : pool[at].cells.findIndex((episode, where) => episode?.key === key && rows[where].run === run);
    for (let to = at + moves[event.key]; at >= 0 && to >= 0 && to < pool.length; to += moves[event.key]) {
      const episode = pool[to].cells[column];
      if (episode) { go({ episodes: [[run, episode.key]], step: 0 }); window.scrollTo(0, 0); return; }
    }
  }
});
window.addEventListener("popstate", draw);

async function refresh() {
  [runs, groups] = await Promise.all([source.runs(), source.trainings()]);
  gather();
  await readMore();
  if (!runs.length) document.querySelector(".skip").textContent = "Skip to the trainings";
}

(async () => {
  let known;
  try {
    known = await source.version?.(); // read before the runs, so that episodes added meanwhile trigger a refresh
    await refresh();
    shown = [...tasks.values()];
    await draw();
  } catch (error) {
    document.getElementById("page").replaceChildren(h("p", { className: "banner" }, `The folders could not be read: ${error.message}`));
    throw error;
  }
  await readAll();
  if (!source.version) return;
  const look = async () => {
    try {
      const now = await source.version();
      if (now !== known) {
        known = now;
        await refresh();
        if (!here().episodes) await draw();
        await readAll();
      }
    } finally {
      setTimeout(look, source.every);
    }
  };
  setTimeout(look, source.every);
})();
