// What the server sees, asked for once a second; only what changed comes. Addresses carry numbers, never paths.
const runs = new Map(), experiments = new Map(), sections = new Map();
const ORDER = ["running", "failed", "damaged", "stopped", "finished"];
const PAGE = 50, EVERY = 1000, COLOURS = 8;
const main = document.getElementById("experiments"), dialog = document.getElementById("run");
const find = document.getElementById("find"), states = document.getElementById("states");
let version = 0, now = 0, opened = null, openedVersion = -1, heard = null;

const last = one => { for (let k = one.curve.length - 1; k >= 0; k--) if (one.curve[k] !== null) return one.curve[k]; return null; };

function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds)), hours = Math.floor(whole / 3600), minutes = Math.floor(whole % 3600 / 60);
  const two = n => String(n).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

const runsIn = n => `${n} run${n === 1 ? "" : "s"}`;

function counted(list) {
  const counts = new Map(ORDER.map(state => [state, 0]));
  for (const one of list) counts.set(one.state, counts.get(one.state) + 1);
  return ORDER.filter(state => counts.get(state)).map(state => `${counts.get(state)} ${state}`).join(", ");
}

// Seeds that were planned and have no folder yet, for each learner and stream.
function toCome(list) {
  const there = new Map();
  for (const one of list) {
    const key = `${one.learner}\n${one.stream}`;
    if (!there.has(key)) there.set(key, { planned: new Set(one.planned), seeds: new Set() });
    there.get(key).seeds.add(one.seed);
  }
  return [...there.values()].reduce((sum, of) => sum + [...of.planned].filter(seed => !of.seeds.has(seed)).length, 0);
}

function matches(one, name) {
  if (states.value && one.state !== states.value) return false;
  const wanted = find.value.trim().toLowerCase();
  return !wanted || `${name}\n${one.learner}\n${one.stream}\ns${one.seed}\n${one.message}`.toLowerCase().includes(wanted);
}

function sectionOf(experiment) {
  if (sections.has(experiment.id)) return sections.get(experiment.id);
  const about = element("span", { class: "meta" }), report = element("a", { href: `/report?id=${experiment.id}`, target: "_blank", rel: "noopener" }, "full report");
  const heads = [["run"], ["state"], ["learned"], ["score", "number"], ["left", "number"], ["message", "wide-only"]];
  const head = element("tr", {}, ...heads.map(([text, kind]) => element("th", { scope: "col", class: kind || "" }, text)));
  const body = element("tbody"), more = element("button", { type: "button", class: "more" }, "more runs");
  const table = element("table", { class: "runs-table" }, element("thead", {}, head), body), charts = element("div", { class: "charts" });
  const box = element("details", { class: "experiment" }, element("summary", {}, element("b", {}, experiment.name), about, report),
    element("div", { class: "inside" }, element("div", {}, element("div", { class: "wide" }, table), more), charts));
  const made = { box, about, body, more, charts, lines: new Map(), limit: PAGE, touched: true, experiment, decided: false };
  more.addEventListener("click", () => { made.limit += PAGE * 4; made.touched = true; draw(); });
  box.addEventListener("toggle", () => { made.touched = true; draw(); });
  body.addEventListener("click", event => { const button = event.target.closest("button[data-id]"); if (button) open(Number(button.dataset.id)); });
  sections.set(experiment.id, made);
  main.append(box);
  return made;
}

function lineOf(section, one) {
  if (!section.lines.has(one.id)) {
    const name = element("button", { type: "button", class: "open", "data-id": one.id }), state = element("span"), bar = element("i");
    const cells = ["", "", "", "number", "number", "message wide-only"].map(kind => element("td", { class: kind }));
    cells[0].append(name); cells[1].append(state);
    const words = element("span");
    cells[2].append(element("span", { class: "bar", "aria-hidden": "true" }, bar), words);
    section.lines.set(one.id, { row: element("tr", {}, ...cells), name, state, bar, words, cells });
  }
  const line = section.lines.get(one.id), part = one.tasks ? one.learned / one.tasks : 0;
  line.name.textContent = `${one.learner}${one.stream ? ` on ${one.stream}` : ""}${one.seed === null ? "" : `, seed ${one.seed}`}`;
  line.state.textContent = one.state;
  line.state.className = `state ${one.state}`;
  line.bar.style.width = `${100 * part}%`;
  line.words.textContent = one.tasks ? `${one.learned}/${one.tasks}` : "";
  line.cells[3].textContent = format(last(one));
  line.cells[3].title = `${one.score}, mean over the ${one.word}s learned so far`;
  line.cells[4].textContent = one.state === "running" && one.ends ? clock(one.ends - now) : "";
  line.cells[5].textContent = one.message.slice(0, 160);
  return line.row;
}

function draw() {
  const by = new Map([...experiments.keys()].map(id => [id, []]));
  for (const one of runs.values()) by.get(one.experiment)?.push(one);
  let many = 0;
  for (const [id, list] of by) {
    const experiment = experiments.get(id), section = sectionOf(experiment);
    const kept = list.filter(one => matches(one, experiment.name));
    section.box.hidden = !kept.length;
    if (!kept.length) continue;
    if (!section.decided) { section.decided = true; section.box.open = many < 3 || list.some(one => one.state === "running"); }
    many++;
    const come = toCome(list), ends = list.map(one => one.state === "running" ? one.ends : null).filter(Boolean);
    section.about.textContent = `${runsIn(list.length)}: ${counted(list)}${come ? `, ${come} to come` : ""}${ends.length ? `; those running end in about ${clock(Math.max(...ends) - now)}` : ""}`;
    if (section.box.open) drawOpen(section, kept);
  }
}

function drawOpen(section, kept) {
  kept.sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || a.learner.localeCompare(b.learner) || a.stream.localeCompare(b.stream) || a.seed - b.seed);
  const wanted = kept.slice(0, section.limit).map(one => lineOf(section, one));
  const there = section.body.children;
  if (there.length !== wanted.length || wanted.some((row, i) => row !== there[i])) section.body.replaceChildren(...wanted);
  section.more.hidden = kept.length <= section.limit;
  section.more.textContent = `more runs (${kept.length - section.limit} not shown)`;
  if (section.touched) { section.touched = false; section.charts.replaceChildren(...chartsOf(kept)); }
}

// One chart per stream: each learner's mean over its runs, as far as they have come.
function chartsOf(list) {
  const streams = new Map();
  for (const one of list) {
    if (!one.curve.length) continue;
    if (!streams.has(one.stream)) streams.set(one.stream, { one, learners: new Map() });
    const of = streams.get(one.stream).learners;
    if (!of.has(one.learner)) of.set(one.learner, []);
    of.get(one.learner).push(one.curve);
  }
  return [...streams].slice(0, 6).map(([stream, { one, learners }]) => {
    const lines = [...learners].sort(([a], [b]) => a.localeCompare(b)).slice(0, 12).map(([learner, curves]) => {
      const length = Math.max(...curves.map(curve => curve.length));
      return [learner, Array.from({ length }, (_, k) => {
        const known = curves.map(curve => curve[k]).filter(value => value !== null && value !== undefined);
        return known.length ? known.reduce((a, b) => a + b) / known.length : null;
      })];
    });
    const left = learners.size - lines.length;
    return chart(`${stream}: ${one.score} over the ${one.word}s learned so far, mean over runs${left > 0 ? ` (${left} more learners not drawn)` : ""}`, lines, Math.max(one.tasks, 2));
  });
}

function chart(caption, lines, length) {
  const W = 380, H = 190, left = 34, right = 8, top = 8, bottom = 22;
  const known = lines.flatMap(([, values]) => values.filter(value => value !== null));
  const inside = known.every(value => value >= 0 && value <= 1);
  const low = inside ? 0 : Math.min(...known), high = inside ? 1 : Math.max(low + 1e-9, ...known);
  const x = k => left + (W - left - right) * (length > 1 ? k / (length - 1) : 0), y = v => top + (H - top - bottom) * (1 - (v - low) / (high - low));
  const made = svg("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": caption });
  for (const part of [0, .5, 1]) {
    const value = low + part * (high - low);
    made.append(svg("line", { class: "grid", x1: left, x2: W - right, y1: y(value), y2: y(value) }), svg("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, inside ? value.toFixed(1) : value.toPrecision(3)));
  }
  made.append(svg("text", { x: left, y: H - 5 }, "1"), svg("text", { x: W - right, y: H - 5, "text-anchor": "end" }, String(length)));
  const keys = element("ul", { class: "keys" });
  lines.forEach(([name, values], i) => {
    const points = values.map((v, k) => v === null ? null : [x(k), y(v)]).filter(Boolean);
    const line = svg("polyline", { class: "line", points: points.map(p => p.join(",")).join(" ") });
    line.style.stroke = `var(--c${i % COLOURS})`;
    if (i >= COLOURS) line.style.strokeDasharray = "4 2";
    const end = points.at(-1);
    made.append(line);
    if (end) { const dot = svg("circle", { class: "mark", cx: end[0], cy: end[1], r: 3.2 }); dot.style.fill = `var(--c${i % COLOURS})`; made.append(dot); }
    const swatch = svg("svg", { width: 14, height: 8 }, svg("line", { x1: 0, x2: 14, y1: 4, y2: 4, "stroke-width": 2 }));
    swatch.firstChild.style.stroke = `var(--c${i % COLOURS})`;
    if (i >= COLOURS) swatch.firstChild.style.strokeDasharray = "4 2";
    keys.append(element("li", {}, swatch, name));
  });
  return element("figure", {}, element("figcaption", {}, caption), made, keys);
}

// The matrix as far as it is filled: rows are time, columns tasks; cells to come are outlined.
function heat(told, one) {
  const T = told.tasks.length, rows = told.matrix.slice(-200), W = 400, cell = W / Math.max(T, 1), height = Math.min(22, Math.max(3, cell));
  const known = rows.flatMap(row => row.values || []).filter(value => value !== null);
  const inside = known.every(value => value >= 0 && value <= 1), low = inside ? 0 : Math.min(...known), high = inside ? 1 : Math.max(...known);
  const made = svg("svg", { class: "chart heat", viewBox: `0 0 ${W} ${Math.max(8, rows.length * height)}`, role: "img", "aria-label": `scores of ${one.learner}, ${rows.filter(row => row.values).length} of ${rows.length} rows` });
  rows.forEach((row, k) => (row.values || Array(T).fill(null)).forEach((value, j) => {
    const box = svg("rect", { x: j * cell, y: k * height, width: Math.max(.5, cell - .6), height: Math.max(.5, height - .6) });
    const share = value === null ? 0 : high > low ? (value - low) / (high - low) : 1;
    box.style.fill = value === null ? "var(--wash)" : `color-mix(in srgb, var(--accent) ${Math.round(100 * (told.higher_is_better ? share : 1 - share))}%, var(--wash))`;
    box.append(svg("title", {}, `after ${one.word} ${row.after + 1}, on ${told.tasks[j]}: ${format(value)}`));
    made.append(box);
  }));
  return element("figure", {}, element("figcaption", {}, element("b", {}, "Scores"), ` after each ${one.word} (rows) on each ${one.word} (columns)${told.matrix.length > rows.length ? ", the last 200 rows" : ""}`), made);
}

async function open(id) {
  opened = id;
  openedVersion = -1;
  dialog.replaceChildren(element("p", {}, "Reading."));
  if (!dialog.open) dialog.showModal();
  await refresh();
}

async function refresh() {
  const one = runs.get(opened);
  if (!dialog.open || !one || one.version === openedVersion) return;
  const reply = await fetch(`/run?id=${opened}`);
  if (!reply.ok || opened !== one.id) return;
  openedVersion = one.version;
  const told = await reply.json(), close = element("button", { type: "button", class: "more close" }, "Close");
  close.addEventListener("click", () => dialog.close());
  const parts = [close, element("h2", { id: "run-title" }, `${one.learner} on ${one.stream}${one.seed === null ? "" : `, seed ${one.seed}`}`),
    element("p", { class: "meta" }, `${one.state}; ${one.learned} of ${one.tasks} ${one.word}s learned, ${one.rows} rows${one.state === "running" && one.ends ? `; about ${clock(one.ends - now)} left` : ""}`),
    element("p", { class: "meta" }, element("code", {}, told.path))];
  if (told.message) parts.push(element("p", { class: "failure" }, told.message));
  const two = element("div", { class: "two" });
  if (told.matrix && told.matrix.length) two.append(heat(told, one));
  if (one.curve.length) two.append(chart(`${one.score} over the ${one.word}s learned so far`, [[one.learner, one.curve]], Math.max(one.tasks, 2)));
  parts.push(two);
  for (const log of told.logs) parts.push(element("h3", {}, log.name), element("pre", {}, log.text));
  if (told.said && told.said.length) parts.push(element("h3", {}, "Last rows"), element("pre", {}, told.said.join("\n")));
  const options = Object.entries(told.options || {});
  if (options.length) parts.push(element("h3", {}, "Options"), element("pre", {}, options.map(([name, value]) => `${name}: ${value}`).join("\n")));
  if (told.notes && told.notes.length) parts.push(element("h3", {}, "Notes"), element("pre", {}, told.notes.join("\n")));
  const kept = dialog.scrollTop;
  dialog.replaceChildren(...parts);
  dialog.scrollTop = kept;
}

function take(told) {
  version = told.version;
  now = told.now;
  heard = new Date();
  for (const one of told.experiments) if (!experiments.has(one.id)) experiments.set(one.id, one);
  for (const one of told.runs) { runs.set(one.id, one); if (sections.has(one.experiment)) sections.get(one.experiment).touched = true; }
  for (const id of told.gone) { const one = runs.get(id); if (one) sections.get(one.experiment).touched = true; runs.delete(id); }
  document.getElementById("folders").textContent = told.folders.join(", ");
  document.getElementById("summary").textContent = (runs.size ? `${runsIn(runs.size)}: ${counted(runs.values())}` : "No runs yet.") + (told.waiting ? `; ${told.waiting} still to be read` : "");
  draw();
}

async function poll() {
  let wait = EVERY;
  try {
    if (!document.hidden || !heard) {
      const reply = await fetch(`/state?since=${version}`);
      if (!reply.ok) throw new Error(reply.statusText);
      const told = await reply.json();
      if (told.version < version) { location.reload(); return; }
      take(told);
      await refresh();
      if (told.waiting) wait = 50;
    }
  } catch {
    document.getElementById("summary").textContent = `The server does not answer; what is shown is from ${heard ? heard.toLocaleTimeString() : "no time"}.`;
    wait = 5 * EVERY;
  }
  setTimeout(poll, wait);
}

const asked = () => { for (const section of sections.values()) section.touched = true; draw(); };
find.addEventListener("input", asked);
states.addEventListener("change", asked);
document.getElementById("choice").addEventListener("submit", event => event.preventDefault());
dialog.addEventListener("close", () => { opened = null; });
poll();
