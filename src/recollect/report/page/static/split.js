// Section 5: forgetting split in parts, and where the errors go, a row of small panels a learner.
const PARTS = [["within", "within the task"], ["older", "confused with older ones"], ["newer", "confused with newer ones"]];
const SIDES = [["own", "own classes"], ["older", "older classes"], ["newer", "newer classes"]];

function keys(names) {
  const list = element("ul", { class: "keys" });
  for (const [name, text] of names) {
    const box = svg("svg", { width: 14, height: 11, "aria-hidden": "true" }), rect = svg("rect", { width: 14, height: 11 });
    rect.style.fill = fill(box, name);
    box.append(rect);
    list.append(element("li", {}, box, text));
  }
  return list;
}

function stackLimits(all) {
  let low = 0, high = 0;
  for (const parts of all) {
    for (let k = 0; k < parts[0][1].value.length; k++) {
      let up = 0, down = 0;
      for (const [, values] of parts) { const v = values.value[k]; if (v > 0) up += v; else if (v < 0) down += v; }
      if (up > high) high = up;
      if (down < low) low = down;
    }
  }
  return [low, high * 1.04 || 1];
}

const partsOf = bands => PARTS.map(([name]) => [name, band(bands[name])]);

function splitOf(host) {
  const stream = page.streams[host.dataset.stream], words = stream.words, T = stream.tasks.length;
  const split = stream.learners.filter(one => one.parts), erring = stream.learners.filter(one => one.errors);
  if (split.length) host.append(keys(PARTS.concat()));
  if (erring.length) host.append(element("p", { class: "aside" }, `The last panel shows where wrong answers go, as shares of the test samples of the ${words.tasks} seen: to classes of the ${words.task}'s own, of older, of newer ${words.tasks}.`), keys(SIDES));
  const overTime = stackLimits(split.map(one => partsOf(one.parts.over_time))), perTask = stackLimits(split.map(one => partsOf(one.parts.per_task)));
  for (const one of stream.learners.filter(learner => learner.parts || learner.errors)) {
    const panels = [];
    if (one.parts) {
      panels.push(["over time, mean of earlier " + words.tasks, partsOf(one.parts.over_time), overTime, `${words.tasks} learned`, PARTS, band(one.curves["forgetting.chaudhry2018"])]);
      panels.push([`each ${words.task} at the end`, partsOf(one.parts.per_task), perTask, words.task, PARTS, null]);
    }
    if (one.errors) panels.push(["where errors go, over time", SIDES.map(([name]) => [name, band(one.errors.over_time[name])]), [0, 1], `${words.tasks} learned`, SIDES, null]);
    const row = element("div", { class: "three" }), slots = [];
    for (const [title, parts, , x, names] of panels) {
      const slot = element("div", {});
      slots.push(slot);
      const text = Object.fromEntries(names);
      row.append(element("figure", {}, element("figcaption", {}, element("b", {}, one.label), `, ${title}`), slot,
        numbersTable(`${one.label}, ${title}`, x, stream.tasks.map((name, k) => `${k + 1}: ${name}`), () => parts.map(([name, values]) => [text[name] || name, k => at(values, k)]))));
    }
    host.append(row);
    drawn(row, () => {
      panels.forEach(([title, parts, domain, xTitle, names, total], i) => {
        const text = Object.fromEntries(names);
        bars(slots[i], {
          T, parts, domain, xTitle, total, title: `${one.label}, ${title}: ` + parts.map(([name, values]) => `${text[name] || name} ${format(lastKnown(values.value))}`).join(", ") + " at the last",
          lines: k => [[null, `${words.task} ${k + 1} (${short(stream.tasks[k], 40)})`, true]].concat(parts.map(([name, values]) => [null, `${text[name] || name}  ${at(values, k)}`])),
        });
      });
    }, one.label);
  }
  dropsOf(stream, host);
  classesOf(stream, host);
}

const namesOf = names => names.length > 20 ? "" : `Classes: ${names.map((name, c) => `${c + 1} ${short(name, 30)}`).join(", ")}.`;

// What each class is answered with at the end, and how much of it right over time, where that was counted.
function classesOf(stream, host) {
  const some = stream.learners.filter(one => one.classes), words = stream.words;
  if (!some.length) return;
  const grid = element("div", { class: "many" });
  host.append(element("h3", {}, "Class by class"), element("p", { class: "aside" }, `Of the test samples of the ${words.tasks} seen. "Answered with": rows are the true classes, columns what they are answered with at the end. "Right over time": how much of each class (columns) is answered right after each ${words.task} (rows). ${namesOf(some[0].classes.names)}`), scaleBar("--heat", [0, 1], "share of the class"), grid);
  for (const one of some) {
    const names = one.classes.names, C = names.length, name = c => `${c + 1} (${short(names[c], 40)})`;
    for (const [what, values, row, cell] of [
      ["answered with", band(one.classes.answered), i => `class ${name(i)}`, j => `answered with ${name(j)}`],
      ["right over time", band(one.classes.over_time), i => `after ${words.task} ${i + 1}`, j => `class ${name(j)} right`],
    ]) {
      const S = values.shape[0], canvas = element("canvas", { role: "img", tabindex: "0", "aria-label": `${one.label}, classes ${what}: ${S} rows, ${C} classes. Arrow keys move from cell to cell.` });
      const block = { values, S, T: C, tick: i => i + 1, ticks: most => wholeTicks(S, most).map(k => k - 1), row };
      const figure = element("figure", {}, element("figcaption", {}, swatch(one.label), " ", element("b", {}, one.label), `, ${what}`), element("div", {}, canvas),
        numbersTable(`${one.label}, classes ${what}`, "row", Array.from({ length: S }, (_, i) => row(i)), () => names.map((label, j) => [`${j + 1}: ${label}`, i => at(values, i * C + j)])));
      exploreHeat(canvas, (_, i, j) => [[null, `${row(i)}: ${cell(j)}`, true], [one.label, Number.isFinite(values.value[i * C + j]) ? at(values, i * C + j) : "not seen yet"]]);
      grid.append(figure);
      drawn(figure, () => heat(canvas, { blocks: [block], domain: [0, 1], scale: "--heat" }), one.label);
    }
  }
}

// Where forgetting cannot be split: each task's whole drop, a small panel a learner.
function dropsOf(stream, host) {
  const some = stream.learners.filter(one => one.drops), words = stream.words, T = stream.tasks.length;
  if (!some.length) return;
  const grid = element("div", { class: "many" }), parts = one => [["drop", band(one.drops)]], domain = stackLimits(some.map(parts));
  const when = stream.rows.length ? `, when the last ${words.task} had been learned` : ` at the end`;
  host.append(grid);
  for (const one of some) {
    const slot = element("div", {}), values = band(one.drops);
    const figure = element("figure", {}, element("figcaption", {}, swatch(one.label), " ", element("b", {}, one.label), `, each ${words.task}${when}`), slot,
      numbersTable(`${one.label}, forgetting of each ${words.task}${when}`, words.task, stream.tasks.map((name, k) => `${k + 1}: ${name}`), () => [["forgetting", k => at(values, k)]]));
    grid.append(figure);
    drawn(figure, () => bars(slot, {
      T, parts: parts(one), domain, xTitle: words.task,
      title: `${one.label}, forgetting of each ${words.task}${when}: ` + stream.tasks.map((name, k) => `${short(name)} ${format(values.value[k])}`).slice(0, 12).join(", "),
      lines: k => [[null, `${words.task} ${k + 1} (${short(stream.tasks[k], 40)})`, true], [one.label, Number.isFinite(values.value[k]) ? `forgotten  ${at(values, k)}` : "learned last, nothing to forget yet"]],
    }), one.label);
  }
}
