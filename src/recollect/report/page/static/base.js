// The data of the page, small helpers, and which learners are shown. Names are foreign text: textContent only.
const page = JSON.parse(document.getElementById("data").textContent);
const place = new Map(page.labels.map((label, i) => [label, i]));
const shown = new Set(page.shown_first);
const redraws = [];
const COLOURS = 8, MISSING = 65535;

// A packed band in base64: 16-bit whole numbers, or 32-bit floats where the step is 0. Decoded once, when used.
function band(packed) {
  if (!packed) return null;
  if (!packed.ready) {
    const read = text => {
      const raw = atob(text);
      if (packed.step === 0) {
        const bytes = new DataView(Uint8Array.from(raw, c => c.charCodeAt(0)).buffer);
        return Float64Array.from({ length: raw.length / 4 }, (_, i) => Math.round(bytes.getFloat32(4 * i, true) * 1e6) / 1e6);
      }
      const out = new Float64Array(raw.length / 2);
      for (let i = 0; i < out.length; i++) {
        const whole = raw.charCodeAt(2 * i) | raw.charCodeAt(2 * i + 1) << 8;
        out[i] = whole === MISSING ? NaN : packed.offset + whole * packed.step;
      }
      return out;
    };
    const ready = { shape: packed.shape, value: read(packed.value), low: null, high: null };
    if (packed.low) { ready.low = read(packed.low); ready.high = read(packed.high); }
    packed.ready = ready;
  }
  return packed.ready;
}

function interval(low, high, digits = 3) {
  const none = v => v === null || v === undefined || Number.isNaN(v);
  return none(low) || none(high) ? "" : `[${format(low, digits)}, ${format(high, digits)}]`;
}

function at(made, i, digits = 3) {
  const ends = made.low ? " " + interval(made.low[i], made.high[i], digits) : "";
  return format(made.value[i], digits) + ends;
}

const lastKnown = values => { for (let k = values.length - 1; k >= 0; k--) if (Number.isFinite(values[k])) return values[k]; return NaN; };
const colour = label => `var(--c${place.get(label) % COLOURS})`;
const short = (text, n = 22) => text.length > n ? text.slice(0, n - 1) + "…" : text;
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Eight shapes, so that colour is never the only difference; a second round of colours has other shapes.
const SHAPES = [
  r => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
  r => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  r => `M0,${-1.2 * r}L${1.15 * r},${r}H${-1.15 * r}z`,
  r => `M0,${-1.3 * r}L${1.3 * r},0L0,${1.3 * r}L${-1.3 * r},0z`,
  r => `M0,${1.2 * r}L${1.15 * r},${-r}H${-1.15 * r}z`,
  r => `M${-r},${-.4 * r}h${.6 * r}v${-.6 * r}h${.8 * r}v${.6 * r}h${.6 * r}v${.8 * r}h${-.6 * r}v${.6 * r}h${-.8 * r}v${-.6 * r}h${-.6 * r}z`,
  r => `M${-1.2 * r},0L${-.6 * r},${-r}H${.6 * r}L${1.2 * r},0L${.6 * r},${r}H${-.6 * r}z`,
  r => `M${-1.3 * r},${-.6 * r}H${1.3 * r}V${.6 * r}H${-1.3 * r}z`,
];
const shape = (label, r) => { const i = place.get(label); return SHAPES[(i + Math.floor(i / COLOURS)) % SHAPES.length](r); };

function swatch(label, size = 11) {
  const h = size / 2, mark = svg("path", { d: shape(label, 3.6), transform: `translate(${h},${h})` });
  mark.style.fill = colour(label);
  return svg("svg", { width: size, height: size, viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true" }, mark);
}

// One tooltip for the page; it is a live region, so that what the keyboard finds is read out.
const tip = document.getElementById("tip");
function showTip(x, y, lines) {
  tip.replaceChildren(...lines.map(([label, text, strong]) => {
    const row = element("div");
    if (label !== null) row.append(swatch(label, 9));
    row.append(strong ? element("b", {}, text) : text);
    return row;
  }));
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), gap = 14;
  const left = x + gap + box.width > innerWidth ? x - gap - box.width : x + gap;
  const top = y + gap + box.height > innerHeight ? y - gap - box.height : y + gap;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}
const hideTip = () => { tip.hidden = true; };

// A figure's numbers as a table, made when it is opened: the text alternative of a drawing.
function numbersTable(caption, head, rows, columns) {
  const made = element("details", {}, element("summary", {}, "As a table"));
  made.addEventListener("toggle", () => {
    if (!made.open || made.querySelector("table")) return;
    const titles = element("tr", {}, element("th", { scope: "col" }, head));
    for (const [name] of columns()) titles.append(element("th", { scope: "col" }, name));
    const body = element("tbody");
    rows.forEach((name, i) => {
      const line = element("tr", {}, element("th", { scope: "row" }, name));
      for (const [, read] of columns()) line.append(element("td", {}, read(i)));
      body.append(line);
    });
    const table = element("table", {}, element("caption", {}, caption), element("thead", {}, titles), body);
    made.append(element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, table));
  });
  return made;
}

// Draw when it comes into view, and again when the learners shown, the colours or the width change.
const seen = new IntersectionObserver(entries => {
  for (const entry of entries) {
    entry.target.inView = entry.isIntersecting;
    if (entry.isIntersecting && entry.target.stale) { entry.target.stale = false; entry.target.redraw(); }
  }
}, { rootMargin: "400px" });

// With a label, the host belongs to one learner and is there only while that one is shown.
function drawn(host, redraw, label = null) {
  host.redraw = redraw;
  host.label = label;
  host.stale = true;
  redraws.push(host);
  seen.observe(host);
}

function redrawAll(now = false) {
  for (const host of redraws) {
    if (host.label !== null) host.hidden = !shown.has(host.label);
    if (host.hidden) host.stale = true;
    else if (now || host.inView) { host.stale = false; host.redraw(); } else host.stale = true;
  }
}

// What is below the screen follows when there is time, so that a picture of the whole page has every chart.
const soon = window.requestIdleCallback ?? (task => setTimeout(task, 30));
function drawRest() {
  const next = redraws.find(host => host.stale && host.offsetParent !== null);
  if (!next) return;
  next.stale = false;
  next.redraw();
  soon(drawRest);
}
