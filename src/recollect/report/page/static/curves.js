// Section 3: curves over tasks with their interval bands, two beside each other on one scale.
const CURVES = [["acc.average", "raa.michel2023"], ["forgetting.chaudhry2018", "raf.michel2023"]];
const TITLES = { "acc.average": "AA", "raa.michel2023": "RAA", "forgetting.chaudhry2018": "AF", "raf.michel2023": "RAF" };

function limits(bands) {
  let low = 0, high = 0;
  for (const made of bands) for (const values of [made.value, made.low, made.high]) if (values) for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  const pad = (high - low || 1) * .04;
  // An interval of few seeds may reach far beyond what a score can be; the curve must stay readable.
  return [low < 0 ? Math.max(low - pad, -1.2) : 0, high > 1.1 && high < 1.6 ? 1.1 : high + pad];
}

function lineChart(host, stream, id, learners, domain) {
  const T = stream.tasks.length, words = stream.words;
  const bends = id === "raa.michel2023" ? learners.filter(one => one.bend && one.bend.found) : [];
  const wide = host.clientWidth >= 380, lane = 9;
  const made = frame(host, {
    T, domain, height: 250 + bends.length * lane, right: wide ? 96 : 12, bottom: 36 + bends.length * lane,
    xTitle: `${words.tasks} learned`,
    title: `${TITLES[id]} (${id}) after each ${words.task}: ` + learners.map(one => `${one.label} ends at ${format(band(one.curves[id]).value[T - 1])}`).join(", "),
  });
  const { root, x, y } = made, floor = made.height - made.bottom;
  const ends = [];
  for (const one of learners) {
    const values = band(one.curves[id]), known = [];
    for (let k = 0; k < T; k++) if (Number.isFinite(values.value[k])) known.push(k);
    if (!known.length) continue;
    const clip = v => Math.min(Math.max(v, domain[0]), domain[1]);
    if (values.low) {
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
    const { at: bend, low, high } = one.bend, level = floor + 38 + i * lane, values = band(one.curves[id]);
    for (const [from, to] of [[low, high]]) {
      const bar = svg("line", { x1: x(from) - 2, x2: x(to) + 2, y1: level, y2: level });
      bar.style.stroke = colour(one.label); bar.style.strokeWidth = 2;
      root.append(bar);
    }
    const dot = svg("path", { d: shape(one.label, 3.2), transform: `translate(${x(bend)},${level})` });
    dot.style.fill = colour(one.label);
    const ring = svg("circle", { class: "ring", cx: x(bend), cy: y(values.value[bend]), r: 6.5 });
    ring.style.stroke = colour(one.label);
    const drop = svg("line", { x1: x(bend), x2: x(bend), y1: y(values.value[bend]) + 7, y2: level });
    drop.style.stroke = colour(one.label); drop.style.strokeDasharray = "1 3";
    root.append(dot, ring, drop);
  });
  explore(made, T, k => [[null, `after ${words.task} ${k + 1} (${short(stream.tasks[k], 40)})`, true]].concat(
    learners.map(one => [one, band(one.curves[id])]).filter(([, b]) => Number.isFinite(b.value[k])).sort((a, b) => b[1].value[k] - a[1].value[k])
      .map(([one, b]) => [one.label, `${short(one.label)}  ${at(b, k)}` + (one.bend && one.bend.found && one.bend.at === k && bends.includes(one) ? "  stops rising" : "")])));
  host.replaceChildren(root);
}

// Names at the ends of the lines, moved apart where they would overlap.
function labelEnds(root, ends, made) {
  const gap = 12.5, kept = ends.sort((a, b) => a.y - b.y);
  const levels = kept.map(end => end.y);
  for (let i = 1; i < levels.length; i++) levels[i] = Math.max(levels[i], levels[i - 1] + gap);
  const over = (levels[levels.length - 1] ?? 0) - (made.height - made.bottom);
  if (over > 0) for (let i = levels.length - 1, limit = made.height - made.bottom; i >= 0; i--) { levels[i] = Math.min(levels[i], limit); limit = levels[i] - gap; }
  kept.forEach((end, i) => {
    const text = svg("text", { class: "label", x: made.width - made.right + 8, y: levels[i] + 4 });
    text.textContent = short(end.one.label, 14);
    text.style.fill = colour(end.one.label);
    root.append(text);
  });
}

function curvesOf(host) {
  const stream = page.streams[host.dataset.stream];
  for (const ids of CURVES) {
    const have = ids.filter(id => stream.learners.some(one => one.curves[id]));
    if (!have.length) continue;
    const row = element("div", { class: "two" }), slots = new Map();
    for (const id of have) {
      const caption = element("figcaption", {}, element("b", {}, TITLES[id]), " ", element("code", {}, id));
      if (id === "raa.michel2023" && stream.learners.some(one => one.bend && one.bend.found)) caption.append(". A ring marks where a curve stops rising; the bar under the axis is the interval of that place over seeds.");
      const slot = element("div", {});
      const current = () => stream.learners.filter(one => shown.has(one.label) && one.curves[id]);
      row.append(element("figure", {}, caption, slot, numbersTable(`${TITLES[id]} after each ${stream.words.task}`, stream.words.task, stream.tasks.map((name, k) => `${k + 1}: ${name}`),
        () => current().map(one => [one.label, k => at(band(one.curves[id]), k)]))));
      slots.set(id, slot);
    }
    host.append(row);
    drawn(row, () => {
      const all = stream.learners.filter(one => shown.has(one.label));
      const domain = limits(all.flatMap(one => have.map(id => band(one.curves[id])).filter(Boolean)));
      for (const id of have) lineChart(slots.get(id), stream, id, all.filter(one => one.curves[id]), domain);
    });
  }
  if (!host.children.length) host.append(element("p", { class: "aside" }, "No curve can be drawn: the cells that it reads were not evaluated."));
}
