// Axes and bars in SVG.
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= rough * .999);
  const made = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) made.push(Math.abs(v) < 1e-12 ? 0 : v);
  return made;
}

function wholeTicks(n, count) {
  const step = Math.max(1, [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000].find(s => n / s <= count) || Math.ceil(n / count));
  const made = [1];
  for (let k = step === 1 ? 2 : step; k <= n; k += step) made.push(k);
  // The last one is always named; what would touch it is not.
  if (made[made.length - 1] !== n) { if (n - made[made.length - 1] < step * .6 && made.length > 1) made.pop(); made.push(n); }
  return made;
}

// A frame with its axes: gives the scales. x runs over T tasks or rows, y over the domain; `marks` are places on x.
function frame(host, { T, domain, height = 230, right = 10, bottom = 34, xTitle, title, bars = false, tick = k => k + 1, marks = [] }) {
  const width = Math.max(240, host.clientWidth || 480), left = 36, top = 8;
  const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: "0", "aria-label": title });
  const inner = width - left - right, slot = inner / (bars ? T : Math.max(1, T - 1));
  const x = k => bars ? left + (k + .5) * slot : left + (T === 1 ? inner / 2 : k * slot);
  const [low, high] = domain, y = v => top + (high - v) / (high - low) * (height - top - bottom);
  for (const v of ticks(low, high, 5)) {
    root.append(svg("line", { class: v === Math.max(0, low) ? "axis" : "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }));
    const text = svg("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" });
    text.textContent = String(Math.round(v * 1000) / 1000).replace("-", "−");
    root.append(text);
  }
  for (const k of wholeTicks(T, Math.max(2, Math.floor(inner / 34)))) {
    const text = svg("text", { x: x(k - 1), y: height - bottom + 15, "text-anchor": "middle" });
    text.textContent = tick(k - 1);
    root.append(text);
  }
  for (const k of new Set(marks)) if (k >= 0) root.append(svg("line", { class: "learned", x1: x(k), x2: x(k), y1: top, y2: height - bottom }));
  const below = svg("text", { x: left + inner / 2, y: height - bottom + 30, "text-anchor": "middle" });
  below.textContent = xTitle;
  root.append(below);
  return { root, x, y, slot, left, top, width, height, right, bottom, inner };
}

// Pointer and arrow keys choose a task; `lines` says what to show of it.
function explore(made, T, lines, bars = false) {
  const { root, x, left, inner, top, height, bottom } = made;
  const cursor = svg("line", { class: "cursor", y1: top, y2: height - bottom, visibility: "hidden" });
  root.append(cursor);
  let k = null;
  const choose = (next, px, py) => {
    k = Math.min(T - 1, Math.max(0, next));
    cursor.setAttribute("x1", x(k)); cursor.setAttribute("x2", x(k)); cursor.setAttribute("visibility", "visible");
    const box = root.getBoundingClientRect(), scale = box.width / made.width;
    showTip(px ?? box.left + x(k) * scale, py ?? box.top + box.height * .3, lines(k));
  };
  const leave = () => { cursor.setAttribute("visibility", "hidden"); hideTip(); };
  root.addEventListener("pointermove", event => {
    const box = root.getBoundingClientRect(), px = (event.clientX - box.left) * made.width / box.width;
    const share = (px - left) / inner;
    choose(bars ? Math.floor(share * T) : Math.round(share * (T - 1)), event.clientX, event.clientY);
  });
  root.addEventListener("pointerleave", leave);
  root.addEventListener("blur", leave);
  root.addEventListener("focus", () => { if (root.matches(":focus-visible")) choose(k ?? T - 1); });
  root.addEventListener("keydown", event => {
    const next = { ArrowLeft: (k ?? T) - 1, ArrowRight: (k ?? -2) + 1, Home: 0, End: T - 1 }[event.key];
    if (event.key === "Escape") leave();
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  });
}

let patterns = 0;
// Fills that differ without colour too: solid, outlined, hatched one way or the other.
function fill(root, name) {
  if (name === "drop" || name === "within" || name === "right") return `var(--${name === "drop" ? "within" : name})`;
  const id = `hatch${patterns++}`, turn = name === "newer" || name === "own" ? 45 : -45;
  const tile = svg("pattern", { id, width: 4, height: 4, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` });
  const ground = svg("rect", { width: 4, height: 4 }), stripe = svg("rect", { width: 1.1, height: 4 });
  ground.style.fill = `var(--${name})`; stripe.style.fill = "var(--paper)"; stripe.style.opacity = .65;
  tile.append(ground, stripe);
  root.append(svg("defs", {}, tile));
  return `url(#${id})`;
}

// Stacked bars over tasks: positive parts go up from zero, negative ones down.
function bars(host, { T, parts, domain, xTitle, title, lines, total = null }) {
  const made = frame(host, { T, domain, height: 170, xTitle, title, bars: true });
  const { root, x, y, slot } = made, width = Math.max(.8, slot * (slot > 6 ? .78 : .96));
  const fills = Object.fromEntries(parts.map(([name]) => [name, fill(root, name)]));
  for (let k = 0; k < T; k++) {
    let up = 0, down = 0;
    for (const [name, values] of parts) {
      const v = values.value[k];
      if (!Number.isFinite(v) || v === 0) continue;
      const from = v > 0 ? up : down;
      if (v > 0) up += v; else down += v;
      const rect = svg("rect", { x: x(k) - width / 2, width, y: Math.min(y(from), y(from + v)), height: Math.abs(y(from + v) - y(from)) });
      rect.style.fill = fills[name];
      root.append(rect);
    }
    if (total && Number.isFinite(total.value[k])) {
      const level = y(total.value[k]);
      const dash = svg("line", { x1: x(k) - width / 2, x2: x(k) + width / 2, y1: level, y2: level });
      dash.style.stroke = "var(--ink)"; dash.style.strokeWidth = 1.6;
      root.append(dash);
    }
  }
  explore(made, T, lines, true);
  host.replaceChildren(root);
}
