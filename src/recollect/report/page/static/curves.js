// Section 3: curves over time with their interval bands; those of one panel stand beside each other on one scale.

// Time is counted in tasks, or in the rows of the matrix where those are batches or visits.
function timeOf(stream) {
  if (!stream.rows.length) return { n: stream.tasks.length, tick: k => k + 1, name: k => `${stream.words.task} ${k + 1} (${short(stream.tasks[k], 40)})`, row: k => `${k + 1}: ${stream.tasks[k]}` };
  return { n: stream.rows.length, tick: k => stream.numbers[k], name: k => stream.rows[k], row: k => stream.rows[k] };
}

// The least and the largest of the values and their intervals, and of what is given to begin with.
function extent(bands, low = Infinity, high = -Infinity) {
  for (const made of bands) for (const values of [made.value, made.low, made.high]) if (values) for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return [low, high];
}

// The scores of detectors and the errors of regression lie far from 0: their curves are looked at closely.
function closeLimits(bands, bounded) {
  const [low, high] = extent(bands);
  if (!(low > .15)) return limits(bands, bounded);
  const step = bounded ? .05 : 10 ** Math.floor(Math.log10(high - low || high)) / 2;
  const [bottom, top] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  return [bottom, bounded ? Math.min(1, top) : Math.max(top, bottom + step)];
}

// An interval of few seeds may reach beyond what a bounded score can be; no band is drawn there. A ratio of scores may exceed 1.
function limits(bands, bounded) {
  const [low, high] = extent(bands, 0, 0), [least, most] = extent(bands.map(({ value }) => ({ value }))), pad = (high - low || 1) * .04;
  return [low < 0 ? Math.max(low - pad, bounded && least >= -1 ? -1.05 : -Infinity) : 0, Math.min(high + pad, bounded && most <= 1 ? 1 : Infinity)];
}

// Between two rows that were evaluated a curve is the line between them.
function along(values, k) {
  if (Number.isFinite(values[k])) return values[k];
  let a = k, b = k;
  while (a >= 0 && !Number.isFinite(values[a])) a--;
  while (b < values.length && !Number.isFinite(values[b])) b++;
  if (a < 0 || b >= values.length) return values[a < 0 ? b : a];
  return values[a] + (values[b] - values[a]) * (k - a) / (b - a);
}

const MOST_BANDS = 6;

function lineChart(host, stream, id, learners, domain, tall = 250, named = false) {
  const time = timeOf(stream), T = time.n, words = stream.words;
  const bends = id === "raa.michel2023" ? learners.filter(one => one.plateau && one.plateau.found) : [];
  const wide = host.clientWidth >= 380, lane = bends.length > 4 ? 5 : 9, room = Math.min(170, Math.max(60, ...learners.map(one => 14 + 6.3 * Math.min(26, one.label.length))));
  const made = frame(host, {
    T, domain, height: tall + bends.length * lane, right: wide ? room : 12, bottom: 36 + bends.length * lane,
    xTitle: named ? `${stream.titles[id]}, ${words.axis}` : words.axis, tick: time.tick, marks: stream.rows.length ? stream.learners[0].learned_at : [],
    title: `${stream.titles[id]} (${id}) after each ${words.moment}: ` + learners.map(one => `${one.label} ends at ${format(lastKnown(band(one.curves[id]).value))}`).join(", "),
  });
  const { root, x, y } = made, floor = made.height - made.bottom;
  const ends = [];
  for (const one of learners) {
    const values = band(one.curves[id]), known = [];
    for (let k = 0; k < T; k++) if (Number.isFinite(values.value[k])) known.push(k);
    if (!known.length) continue;
    const clip = v => Math.min(Math.max(v, domain[0]), domain[1]);
    if (values.low && learners.length <= MOST_BANDS) {
      const there = known.filter(k => Number.isFinite(values.low[k]));
      const up = there.map(k => `${x(k)},${y(clip(values.high[k]))}`), down = there.map(k => `${x(k)},${y(clip(values.low[k]))}`).reverse();
      const area = svg("path", { class: "band", d: there.length ? `M${up.concat(down).join("L")}z` : "" });
      area.style.fill = colour(one.label);
      root.append(area);
    }
    const line = svg("path", { class: "line", d: "M" + known.map(k => `${x(k)},${y(values.value[k])}`).join("L") });
    line.style.stroke = colour(one.label);
    root.append(line);
    const every = Math.max(1, Math.ceil(known.length / 14));
    known.forEach((k, i) => {
      if (i % every && i !== known.length - 1) return;
      const mark = svg("path", { class: "mark", d: shape(one.label, 3.2), transform: `translate(${x(k)},${y(values.value[k])})` });
      mark.style.fill = colour(one.label);
      root.append(mark);
    });
    ends.push({ one, y: y(values.value[known[known.length - 1]]) });
  }
  if (wide) labelEnds(root, ends, made);
  bends.forEach((one, i) => {
    const { at: bend, low, high } = one.plateau, level = floor + 38 + i * lane, values = band(one.curves[id]);
    for (const [from, to] of [[low, high]]) {
      const bar = svg("line", { x1: x(from) - 2, x2: x(to) + 2, y1: level, y2: level });
      bar.style.stroke = colour(one.label); bar.style.strokeWidth = 2;
      root.append(bar);
    }
    const dot = svg("path", { d: shape(one.label, 3.2), transform: `translate(${x(bend)},${level})` });
    dot.style.fill = colour(one.label);
    const ring = svg("circle", { class: "ring", cx: x(bend), cy: y(along(values.value, bend)), r: 6.5 });
    ring.style.stroke = colour(one.label);
    const drop = svg("line", { x1: x(bend), x2: x(bend), y1: y(along(values.value, bend)) + 7, y2: level });
    drop.style.stroke = colour(one.label); drop.style.strokeDasharray = "1 3";
    root.append(dot, ring, drop);
  });
  explore(made, T, k => [[null, `after ${time.name(k)}`, true]].concat(
    learners.map(one => [one, band(one.curves[id])]).filter(([, b]) => Number.isFinite(b.value[k])).sort((a, b) => b[1].value[k] - a[1].value[k])
      .map(([one, b]) => [one.label, `${short(one.label)}  ${at(b, k)}` + (one.plateau && one.plateau.found && one.plateau.at === k && bends.includes(one) ? "  stops rising" : "")])));
  host.replaceChildren(root);
}

// Names at the ends of the lines, moved apart where they would overlap.
function labelEnds(root, ends, made) {
  const gap = Math.min(12.5, (made.height - made.bottom - made.top + 12) / Math.max(1, ends.length)), kept = ends.sort((a, b) => a.y - b.y);
  const levels = kept.map(end => end.y);
  for (let i = 1; i < levels.length; i++) levels[i] = Math.max(levels[i], levels[i - 1] + gap);
  const over = (levels[levels.length - 1] ?? 0) - (made.height - made.bottom);
  if (over > 0) for (let i = levels.length - 1, limit = made.height - made.bottom; i >= 0; i--) { levels[i] = Math.min(levels[i], limit); limit = levels[i] - gap; }
  kept.forEach((end, i) => {
    const text = svg("text", { class: "label", x: made.width - made.right + 8, y: levels[i] + 4 });
    text.textContent = short(end.one.label, 26);
    text.style.fill = colour(end.one.label);
    root.append(text);
  });
}

function curvesOf(host) {
  const stream = page.streams[host.dataset.stream], time = timeOf(stream);
  let row = null, alone = false;
  for (const ids of stream.panels) {
    const have = ids.filter(id => stream.learners.some(one => one.curves[id]));
    if (!have.length) continue;
    // A curve without its companion shares the line with the next such one.
    if (!(row && alone && have.length === 1)) { row = element("div", { class: "two" }); host.append(row); }
    alone = have.length === 1;
    const slots = new Map();
    let figure = null;
    for (const id of have) {
      const caption = element("figcaption", {}, element("b", {}, stream.titles[id]), " ", element("code", {}, id));
      if (stream.rows.length) caption.append(`, after every ${stream.words.moment}, over the ${stream.words.tasks} learned so far. A dotted line marks where one had been learned.`);
      if (id === "raa.michel2023" && stream.learners.some(one => one.plateau && one.plateau.found)) caption.append(". A ring marks where a curve stops rising; the bar under the axis is the interval of that place over seeds.");
      const slot = element("div", {});
      const current = () => stream.learners.filter(one => shown.has(one.label) && one.curves[id]);
      figure = element("figure", {}, caption, slot, numbersTable(`${stream.titles[id]} after each ${stream.words.moment}`, stream.words.moment, Array.from({ length: time.n }, (_, k) => time.row(k)),
        () => current().map(one => [one.label, k => at(band(one.curves[id]), k)])));
      row.append(figure);
      slots.set(id, slot);
    }
    drawn(alone ? figure : row, () => {
      const all = stream.learners.filter(one => shown.has(one.label));
      const made = all.flatMap(one => have.map(id => band(one.curves[id])).filter(Boolean));
      const domain = stream.close && have[0] === "acc.average" ? closeLimits(made, stream.bounded) : limits(made, stream.bounded);
      for (const id of have) lineChart(slots.get(id), stream, id, all.filter(one => one.curves[id]), domain);
    });
  }
  if (!host.children.length) host.append(element("p", { class: "aside" }, "No curve can be drawn: what it reads was not evaluated, or has no value after each task. The rows are in the matrices below."));
}
