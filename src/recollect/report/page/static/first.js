// The first screen: one picture beside each answer. Who is ahead, who still learns, what was forgotten and how.
const order = stream => stream.learners.filter(one => shown.has(one.label)).sort((a, b) => {
  const [x, y] = [a, b].map(one => one.numbers[stream.headline]?.[0] ?? null);
  if (x === null || y === null) return (x === null) - (y === null);
  return stream.higher_is_better ? y - x : x - y;
});

// Rows of one learner each, names at the left: gives the frame, the scale and where each row is.
function rows(host, learners, domain, { title, axis, right = 44, signs = 3 }) {
  const width = Math.max(260, host.clientWidth || 480), height = host.dataset.height ? Number(host.dataset.height) : 152, bottom = 28;
  const widest = Math.max(4, ...learners.map(one => one.label.length)), left = Math.min(width * .36, 14 + 6.3 * widest);
  const step = Math.min(26, Math.max(13, (height - bottom - 4) / Math.max(1, learners.length))), floor = 4 + step * learners.length;
  const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${floor + bottom}`, role: "img", tabindex: "0", "aria-label": title });
  const [low, high] = domain, x = v => left + (Math.min(high, Math.max(low, v)) - low) / (high - low || 1) * (width - left - right);
  for (const v of ticks(low, high, Math.max(2, Math.floor((width - left - right) / 60)))) {
    root.append(svg("line", { class: v === 0 ? "axis" : "grid", x1: x(v), x2: x(v), y1: 2, y2: floor }));
    const text = svg("text", { x: x(v), y: floor + 13, "text-anchor": "middle" });
    text.textContent = String(Math.round(v * 1000) / 1000).replace("-", "−");
    root.append(text);
  }
  const below = svg("text", { x: left + (width - left - right) / 2, y: floor + 26, "text-anchor": "middle" });
  below.textContent = axis;
  root.append(below);
  const most = Math.max(6, Math.floor((left - 12) / 6.1));
  learners.forEach((one, i) => {
    const text = svg("text", { class: "label", x: left - 10, y: y(i) + 4, "text-anchor": "end" });
    text.textContent = short(one.label, most);
    if (one.role === "contestant") text.style.fill = colour(one.label);
    root.append(text);
  });
  function y(i) { return 4 + step * (i + .5); }
  const note = (i, value) => {
    const text = svg("text", { class: "value", x: width - right + 6, y: y(i) + 4 });
    text.textContent = format(value, signs);
    root.append(text);
  };
  return { root, x, y, step, left, width, floor, note };
}

// Pointer and arrow keys choose a row; `lines` says what to show of it.
function exploreRows(made, n, lines) {
  const { root, y, step, width, floor } = made;
  let k = null;
  const choose = (next, px, py) => {
    k = Math.min(n - 1, Math.max(0, next));
    const box = root.getBoundingClientRect(), scale = box.width / width;
    showTip(px ?? box.left + box.width / 2, py ?? box.top + y(k) * scale, lines(k));
  };
  root.addEventListener("pointermove", event => {
    const box = root.getBoundingClientRect(), at = (event.clientY - box.top) * width / box.width;
    if (at > floor) hideTip(); else choose(Math.floor((at - 4) / step), event.clientX, event.clientY);
  });
  root.addEventListener("pointerleave", hideTip);
  root.addEventListener("blur", hideTip);
  root.addEventListener("focus", () => { if (root.matches(":focus-visible")) choose(k ?? 0); });
  root.addEventListener("keydown", event => {
    const next = { ArrowUp: (k ?? 1) - 1, ArrowDown: (k ?? -1) + 1, Home: 0, End: n - 1 }[event.key];
    if (event.key === "Escape") hideTip();
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  });
}

const nice = v => { if (!(v > 0)) return 0; const p = 10 ** Math.floor(Math.log10(v || 1)); return Math.ceil(v / p * 5) / 5 * p; };

function whisker(root, low, high, y, paint, cap = 3) {
  const line = svg("path", { d: `M${low},${y - cap}v${2 * cap}M${low},${y}H${high}M${high},${y - cap}v${2 * cap}` });
  line.style.stroke = paint; line.style.fill = "none"; line.style.strokeWidth = 1.4;
  root.append(line);
}

function aheadOf(host, stream) {
  const learners = order(stream).filter(one => (one.numbers[stream.headline]?.[0] ?? null) !== null);
  if (!learners.length) return host.replaceChildren();
  const numbers = learners.map(one => one.numbers[stream.headline]);
  const ends = numbers.flatMap(([v, low, high]) => [v, low ?? v, high ?? v]);
  const within = ends.every(v => v <= 1.0001 && v >= -.0001);
  let domain = [Math.min(0, ...ends), within ? Math.min(1, nice(Math.max(...ends))) : nice(Math.max(...ends))];
  if (stream.close && Math.min(...ends) > .3) domain = [Math.floor(Math.min(...ends) * 20) / 20, domain[1]];
  const made = rows(host, learners, domain, { title: `${stream.level}: ` + learners.map((one, i) => `${one.label} ${format(numbers[i][0])} ${interval(numbers[i][1], numbers[i][2])}`).join(", "), axis: stream.level });
  const { root, x, y, note, floor } = made;
  if (stream.chance !== null && stream.chance >= domain[0]) {
    root.append(svg("line", { class: "chance", x1: x(stream.chance), x2: x(stream.chance), y1: 0, y2: floor }));
    sayChance(made, x(stream.chance), numbers.map(([v, low, high]) => [x(low ?? v) - 6, x(high ?? v) + 6]));
  }
  learners.forEach((one, i) => {
    const [value, low, high] = numbers[i], paint = one.role === "contestant" ? colour(one.label) : "var(--soft)";
    if ((low ?? null) !== null && (high ?? null) !== null) whisker(root, x(low), x(high), y(i), paint, 0);
    const mark = svg("path", { d: shape(one.label, 4.2), transform: `translate(${x(value)},${y(i)})` });
    if (one.role === "contestant") mark.style.fill = paint;
    else { mark.style.fill = "var(--paper)"; mark.style.stroke = paint; mark.style.strokeWidth = 1.4; }
    root.append(mark);
    note(i, value);
  });
  exploreRows(made, learners.length, k => [[learners[k].label, learners[k].label + (learners[k].role === "contestant" ? "" : ` (${learners[k].role})`), true],
    [null, `${format(numbers[k][0])} ${interval(numbers[k][1], numbers[k][2])}, n = ${numbers[k][3]}`]]);
  host.replaceChildren(root);
}

// "chance" stands at its line in the lowest row that has room; where none has, the line says it when pointed at.
function sayChance({ root, y, left }, line, taken) {
  const room = 40;
  for (let i = taken.length - 1; i >= 0; i--) for (const from of [line + 4, line - 4 - room]) {
    if (from < left || (taken[i][0] < from + room && taken[i][1] > from)) continue;
    const text = svg("text", { class: "value", x: from, y: y(i) + 4 });
    text.textContent = "chance";
    return root.append(text);
  }
  root.querySelector(".chance").append(svg("title", {}, "chance"));
}

function forgottenBy(host, stream) {
  const AF = "forgetting.chaudhry2018", parts = PARTS.map(([name, text]) => [name, text, `split.${name}`]);
  const learners = order(stream).filter(one => (one.numbers[AF]?.[0] ?? null) !== null);
  if (!learners.length) return host.replaceChildren();
  const split = learners.some(one => one.parts);
  let low = 0, high = 0;
  const stacks = learners.map(one => {
    const pieces = one.parts ? parts.map(([name, , id]) => [name, one.numbers[id][0]]) : [["drop", one.numbers[AF][0]]];
    const up = pieces.reduce((sum, [, v]) => sum + Math.max(0, v), 0), down = pieces.reduce((sum, [, v]) => sum + Math.min(0, v), 0);
    low = Math.min(low, down, one.numbers[AF][1] ?? 0); high = Math.max(high, up, one.numbers[AF][2] ?? 0);
    return pieces;
  });
  const made = rows(host, learners, [low < -.005 ? -nice(-low) : 0, Math.min(stream.bounded ? 1.05 : Infinity, nice(high || 1))], {
    title: "Forgetting: " + learners.map(one => `${one.label} ${format(one.numbers[AF][0])}`).join(", "), axis: split ? "forgetting (AF), and its parts" : "forgetting (AF)" });
  const { root, x, y, step, note } = made, thick = Math.min(15, step * .66), fills = {};
  learners.forEach((one, i) => {
    let up = 0, down = 0;
    for (const [name, v] of stacks[i]) {
      const from = v > 0 ? up : down;
      if (v > 0) up += v; else down += v;
      fills[name] ??= fill(root, name);
      const rect = svg("rect", { x: Math.min(x(from), x(from + v)), width: Math.abs(x(from + v) - x(from)), y: y(i) - thick / 2, height: thick });
      rect.style.fill = fills[name];
      root.append(rect);
    }
    const [value, from, to] = one.numbers[AF], probe = one.numbers["probe.forgetting"];
    if ((from ?? null) !== null) whisker(root, x(from), x(to), y(i), "var(--ink)");
    else root.append(svg("line", { class: "axis", x1: x(value), x2: x(value), y1: y(i) - thick / 2 - 1, y2: y(i) + thick / 2 + 1 }));
    if (probe && probe[0] !== null) root.append(svg("path", { class: "probe", d: `M${x(probe[0])},${y(i) - thick / 2 - 2}l-4,-5h8z` }));
    note(i, value);
  });
  exploreRows(made, learners.length, k => [[learners[k].label, learners[k].label, true], [null, `AF ${cellWith(learners[k].numbers[AF])}`],
    ...(learners[k].parts ? parts.map(([, text, id]) => [null, `${text} ${cellWith(learners[k].numbers[id])}`]) : []),
    ...(learners[k].numbers["probe.forgetting"]?.[0] != null ? [[null, `linear probe ${cellWith(learners[k].numbers["probe.forgetting"])}`]] : [])]);
  host.replaceChildren(root, ...(split ? [keys(PARTS)] : []));
}

const cellWith = number => `${format(number[0])} ${interval(number[1], number[2])}`.trim();

function learningOf(host, stream) {
  const has = id => stream.learners.some(one => one.curves[id]), id = has("raa.michel2023") ? "raa.michel2023" : stream.panels[0][0];
  const learners = stream.learners.filter(one => shown.has(one.label) && one.curves[id]), bands = learners.map(one => band(one.curves[id]));
  if (!learners.length) return host.replaceChildren();
  lineChart(host, stream, id, learners, stream.close ? closeLimits(bands, stream.bounded) : limits(bands, stream.bounded), 164, true);
}

function picture(host) {
  const stream = page.streams[host.dataset.stream], draw = { ahead: aheadOf, learning: learningOf, forgotten: forgottenBy, changed: changedIn }[host.dataset.picture];
  drawn(host, () => draw(host, stream));
}
