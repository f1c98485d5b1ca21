// Section 4: score matrices on canvas, so that 500 tasks draw as fast as 5.
function stops(name) {
  return css(name).split(",").map(hex => [1, 3, 5].map(i => parseInt(hex.trim().slice(i, i + 2), 16)));
}

function mix(scale, share) {
  const t = Math.min(1, Math.max(0, share)) * (scale.length - 1), i = Math.min(scale.length - 2, Math.floor(t)), f = t - i;
  return scale[i].map((from, c) => Math.round(from + (scale[i + 1][c] - from) * f));
}

// `rows`: bands stacked from top to bottom, each (n, T); a small gap separates them.
function heat(canvas, { blocks, domain, scale }) {
  const T = blocks[0].T, total = blocks.reduce((sum, block) => sum + block.S, 0);
  const host = canvas.parentElement, left = 26, top = 15, gap = 5, right = 12;
  const inner = Math.max(60, Math.min(host.clientWidth - left - right, T > 40 ? 520 : 300));
  const cell = inner / T, tall = total > 3 * T ? inner * 1.5 / total : cell;
  const height = top + total * tall + gap * (blocks.length - 1) + 2, ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round((left + inner + right) * ratio); canvas.height = Math.round(height * ratio);
  canvas.style.width = `${left + inner + right}px`; canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d"), colours = stops(scale), soft = css("--soft");
  pen.scale(ratio, ratio);
  pen.imageSmoothingEnabled = false;
  pen.font = "10px system-ui, sans-serif";
  const share = v => (v - domain[0]) / (domain[1] - domain[0] || 1);
  let y0 = top;
  const places = [];
  for (const block of blocks) {
    const image = new ImageData(T, block.S), values = block.values.value;
    for (let i = 0; i < T * block.S; i++) {
      if (!Number.isFinite(values[i])) continue;
      const [r, g, b] = mix(colours, share(values[i]));
      image.data.set([r, g, b, 255], 4 * i);
    }
    const sheet = document.createElement("canvas");
    sheet.width = T; sheet.height = block.S;
    sheet.getContext("2d").putImageData(image, 0, 0);
    pen.drawImage(sheet, left, y0, inner, block.S * tall);
    pen.strokeStyle = css("--rule"); pen.lineWidth = 1;
    pen.strokeRect(left - .5, y0 - .5, inner + 1, block.S * tall + 1);
    if (cell >= 21 && tall >= 15) for (let i = 0; i < T * block.S; i++) {
      const v = values[i], cx = left + (i % T + .5) * cell, cy = y0 + (Math.floor(i / T) + .5) * tall;
      if (!Number.isFinite(v)) continue;
      const [r, g, b] = mix(colours, share(v));
      pen.fillStyle = .299 * r + .587 * g + .114 * b > 140 ? "#1d1c1a" : "#fdfcf9";
      pen.textAlign = "center"; pen.textBaseline = "middle";
      pen.fillText(format(v, 2).replace(/^(−?)0\./, "$1."), cx, cy);
    }
    pen.fillStyle = css("--rule");
    if (cell >= 3 && tall >= 3) for (let i = 0; i < T * block.S; i++) if (!Number.isFinite(values[i])) {
      pen.fillRect(left + (i % T + .5) * cell - .75, y0 + (Math.floor(i / T) + .5) * tall - .75, 1.5, 1.5);
    }
    if (block.marks) {
      pen.strokeStyle = css("--mark"); pen.lineWidth = tall < 6 ? 1 : 1.6;
      block.marks.forEach((i, j) => { if (i >= 0) pen.strokeRect(left + j * cell + .8, y0 + i * tall + .4, cell - 1.6, Math.max(1, tall - .8)); });
    }
    places.push({ block, y0 });
    y0 += block.S * tall + gap;
  }
  pen.fillStyle = soft; pen.textBaseline = "alphabetic"; pen.textAlign = "center";
  for (const k of wholeTicks(T, inner / 24)) pen.fillText(k, left + (k - .5) * cell, top - 4);
  pen.textAlign = "right"; pen.textBaseline = "middle";
  for (const { block, y0: from } of places) for (const i of block.ticks(Math.max(1, block.S * tall / 14))) pen.fillText(block.tick(i), left - 4, from + (i + .5) * tall);
  canvas.layout = { places, left, cell, tall, T };
}

function exploreHeat(canvas, describe) {
  let chosen = null;
  const say = (block, i, j, x, y) => showTip(x, y, describe(block, i, j));
  canvas.addEventListener("pointermove", event => {
    const { places, left, cell, tall, T } = canvas.layout || { places: [] };
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const found = places.find(p => y >= p.y0 && y < p.y0 + p.block.S * tall), j = Math.floor((x - left) / cell);
    if (!found || j < 0 || j >= T) return hideTip();
    chosen = [places.indexOf(found), Math.floor((y - found.y0) / tall), j];
    say(found.block, chosen[1], j, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("blur", hideTip);
  canvas.addEventListener("keydown", event => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Escape") hideTip();
    if (!move || !canvas.layout) return;
    event.preventDefault();
    const { places, left, cell, tall, T } = canvas.layout;
    let [p, i, j] = chosen || [places.length - 1, 0, 0];
    if (chosen) { i += move[0]; j = Math.min(T - 1, Math.max(0, j + move[1])); }
    if (i < 0 && p > 0) { p -= 1; i = places[p].block.S - 1; }
    if (i >= places[p].block.S && p < places.length - 1) { p += 1; i = 0; }
    i = Math.min(places[p].block.S - 1, Math.max(0, i));
    chosen = [p, i, j];
    const box = canvas.getBoundingClientRect();
    say(places[p].block, i, j, box.left + left + (j + .5) * cell, box.top + places[p].y0 + (i + .5) * tall);
  });
}

// Without the rows that were never evaluated.
function evaluated(values, ends) {
  const [S, T] = values.shape, kept = [];
  for (let i = 0; i < S; i++) if (values.value.slice(i * T, (i + 1) * T).some(Number.isFinite)) kept.push(i);
  if (kept.length === S || !kept.length) return { values, ends };
  const pick = all => all && Float64Array.from(kept.flatMap(i => [...all.slice(i * T, (i + 1) * T)]));
  return { values: { shape: [kept.length, T], value: pick(values.value), low: pick(values.low), high: pick(values.high) }, ends: kept.map(i => ends[i]) };
}

function blockOf(given, one, stream) {
  const { values, ends } = stream.rows.length ? { values: given, ends: one.ends } : evaluated(given, one.ends);
  const [S, T] = values.shape, words = stream.words;
  if (stream.rows.length && S <= stream.rows.length) return {
    values, S, T, marks: one.learned_at,
    tick: i => stream.numbers[i],
    ticks: most => wholeTicks(S, most).map(k => k - 1),
    row: i => `after ${stream.rows[i]}`,
  };
  return {
    values, S, T,
    tick: i => ends[i] ?? "·",
    ticks: most => wholeTicks(S, most).map(k => k - 1),
    row: i => ends[i] === null || ends[i] === undefined ? `row ${i + 1}, inside a ${words.task}` : `after ${words.task} ${ends[i]}`,
  };
}

function untrainedBlock(values) {
  const flat = { ...values, shape: [1, values.shape[0]] };
  return { values: flat, S: 1, T: values.shape[0], tick: () => "–", ticks: () => [0], row: () => "untrained" };
}

function missing(stream, j) {
  const why = stream.unscored[stream.tasks[j]];
  return why ? `no ${stream.words.score}: ${why}` : "not evaluated";
}

function matrixFigure(stream, caption, label) {
  const canvas = element("canvas", { role: "img", tabindex: "0" });
  const figure = element("figure", {}, element("figcaption", {}, ...caption), element("div", {}, canvas));
  exploreHeat(canvas, (block, i, j) => [
    [null, `${block.row(i)}, on ${j + 1} (${short(stream.tasks[j], 40)})`, true],
    [label, Number.isFinite(block.values.value[i * block.T + j]) ? at(block.values, i * block.T + j, 4) : missing(stream, j)]]);
  return { figure, canvas };
}

function matricesOf(host) {
  const stream = page.streams[host.dataset.stream], words = stream.words, T = stream.tasks.length;
  const grid = element("div", { class: T > 40 && stream.learners.length <= 4 ? "many large" : "many" });
  let low = Infinity, high = -Infinity;
  for (const one of stream.learners) for (const v of band(one.matrix).value) { if (v < low) low = v; if (v > high) high = v; }
  const domain = low >= 0 && high <= 1 ? [0, 1] : [low, high];
  if (T <= 12 && stream.tasks[0] !== `${words.task} 1`) host.append(element("p", { class: "aside" }, stream.tasks.map((name, j) => `${j + 1} ${short(name, 40)}`).join(", ") + "."));
  host.append(scaleBar("--heat", domain, words.score), grid);
  for (const one of stream.learners) {
    const { figure, canvas } = matrixFigure(stream, [swatch(one.label), " ", element("b", {}, one.label)], one.label);
    canvas.setAttribute("aria-label", `Score matrix of ${one.label}: ${one.ends.length} rows, ${T} ${words.tasks}. Arrow keys move from cell to cell.`);
    const values = band(one.matrix), block = blockOf(values, one, stream);
    figure.append(numbersTable(`Score matrix of ${one.label}`, "row", Array.from({ length: block.S }, (_, i) => block.row(i)), () => stream.tasks.map((name, j) => [`${j + 1}: ${name}`, i => at(block.values, i * T + j, 4)])));
    grid.append(figure);
    drawn(figure, () => {
      const blocks = [block];
      if (one.untrained) blocks.unshift(untrainedBlock(band(one.untrained)));
      heat(canvas, { blocks, domain, scale: "--heat" });
    }, one.label);
  }
  jointFigure(stream, grid, domain);
  if (stream.learners.length > 1) differenceFigure(stream, grid);
}

function jointFigure(stream, grid, domain) {
  const one = stream.learners.find(learner => learner.joint);
  if (!one || stream.learners.some(learner => learner.role !== "contestant")) return;
  const T = stream.tasks.length, values = band(one.joint), ends = stream.tasks.map((_, k) => k + 1);
  const { figure, canvas } = matrixFigure(stream, [element("b", {}, "the joint learner"), ", retrained on everything seen so far: what the others are measured against"], null);
  canvas.setAttribute("aria-label", `Score matrix of the joint learner: ${T} rows, ${T} ${stream.words.tasks}. Arrow keys move from cell to cell.`);
  grid.append(figure);
  drawn(figure, () => heat(canvas, { blocks: [blockOf(values, { ends }, { ...stream, rows: [] })], domain, scale: "--heat" }));
}

function differenceFigure(stream, host) {
  const menus = [0, 1].map(which => {
    const menu = element("select", { "aria-label": which ? "minus this learner" : "this learner" });
    stream.learners.forEach((one, i) => menu.append(element("option", { value: i, ...(i === which ? { selected: "" } : {}) }, one.label)));
    return menu;
  });
  const note = element("span", { class: "aside" });
  const { figure, canvas } = matrixFigure(stream, ["One matrix minus another: blue where the first is higher, red where the second is."], null);
  figure.querySelector("figcaption").replaceChildren(element("p", { class: "choice" }, element("span", {}, menus[0], " − ", menus[1])), "Blue where the first is higher, red where the second is. ", note);
  host.append(figure);
  const draw = () => {
    const [a, b] = menus.map(menu => stream.learners[menu.value]);
    const { values, exact } = difference(stream, a, b);
    canvas.setAttribute("aria-label", `Score matrix of ${a.label} minus that of ${b.label}. Arrow keys move from cell to cell.`);
    note.textContent = exact ? "" : "without intervals: the seeds differ, or there are too many cells for one page";
    if (!values) return;
    let most = 0;
    for (const v of values.value) if (Math.abs(v) > most) most = Math.abs(v);
    heat(canvas, { blocks: [blockOf(values, a, stream)], domain: [-most || -1, most || 1], scale: "--apart" });
  };
  menus.forEach(menu => menu.addEventListener("change", draw));
  drawn(figure, draw);
}

// The paired difference as it was computed, turned if need be; else the two means subtracted.
function difference(stream, a, b) {
  const turn = values => ({ shape: values.shape, value: values.value.map(v => -v), low: values.high && values.high.map(v => -v), high: values.low && values.low.map(v => -v) });
  for (const one of stream.differences) {
    if (one.first === a.label && one.second === b.label) return { values: band(one.cells), exact: true };
    if (one.first === b.label && one.second === a.label) return { values: turn(band(one.cells)), exact: true };
  }
  const [x, y] = [band(a.matrix), band(b.matrix)];
  if (x.value.length !== y.value.length) return { values: null, exact: false };
  return { values: { shape: x.shape, value: x.value.map((v, i) => v - y.value[i]), low: null, high: null }, exact: a === b };
}

function scaleBar(name, domain, what) {
  const canvas = element("canvas", { width: 120, height: 9, "aria-hidden": "true" });
  const bar = element("p", { class: "choice" }, element("span", {}, what), element("span", {}, format(domain[0], 2)), canvas, element("span", {}, format(domain[1], 2)), element("span", {}, "· not evaluated"));
  drawn(bar, () => {
    const pen = canvas.getContext("2d"), colours = stops(name);
    for (let i = 0; i < 120; i++) { pen.fillStyle = `rgb(${mix(colours, i / 119).join(",")})`; pen.fillRect(i, 0, 1, 9); }
  });
  return bar;
}
