// Comparisons as a forest: each pair's difference with its interval, and the line of no difference.
function forestOf(host) {
  const stream = page.streams[host.dataset.stream], table = stream.comparisons[host.dataset.table];
  const slot = element("div", {});
  host.append(slot);
  drawn(host, () => {
    const pairs = table.pairs.filter(pair => shown.has(pair.first) && shown.has(pair.second) && pair.difference[0] !== null);
    if (!pairs.length) return slot.replaceChildren();
    const width = Math.max(280, slot.clientWidth || 600), step = 19, bottom = 32, floor = 6 + step * pairs.length;
    const names = pairs.map(pair => `${short(pair.first, 26)} − ${short(pair.second, 26)}`);
    const left = Math.min(width * .45, 16 + 6.2 * Math.max(...names.map(name => name.length))), right = 16;
    const ends = pairs.flatMap(pair => [pair.difference[0], pair.difference[1] ?? 0, pair.difference[2] ?? 0]);
    const low = Math.min(0, ...ends), high = Math.max(0, ...ends), pad = (high - low || 1) * .03;
    const x = v => left + (v - low + pad) / (high - low + 2 * pad) * (width - left - right), y = i => 6 + step * (i + .5);
    const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${floor + bottom}`, role: "img", tabindex: "0",
      "aria-label": `Differences in ${table.id}: ` + pairs.map((pair, i) => `${names[i]} ${cellWith(pair.difference)}`).slice(0, 20).join(", ") });
    for (const v of ticks(low, high, Math.max(2, Math.floor((width - left) / 80)))) {
      root.append(svg("line", { class: v === 0 ? "axis" : "grid", x1: x(v), x2: x(v), y1: 2, y2: floor }));
      const text = svg("text", { x: x(v), y: floor + 14, "text-anchor": "middle" });
      text.textContent = String(Math.round(v * 1000) / 1000).replace("-", "−");
      root.append(text);
    }
    const below = svg("text", { x: left + (width - left - right) / 2, y: floor + 28, "text-anchor": "middle" });
    below.textContent = `difference in ${table.id} (${table.better} is better)`;
    root.append(below);
    pairs.forEach((pair, i) => {
      const text = svg("text", { class: "label", x: left - 10, y: y(i) + 4, "text-anchor": "end" });
      text.textContent = names[i];
      root.append(text);
      const [value, from, to] = pair.difference;
      if ((from ?? null) !== null) whisker(root, x(from), x(to), y(i), "var(--accent)");
      const dot = svg("circle", { cx: x(value), cy: y(i), r: 4 });
      dot.style.stroke = "var(--accent)"; dot.style.strokeWidth = 1.4;
      dot.style.fill = pair.behind ? "var(--accent)" : "var(--paper)";
      root.append(dot);
    });
    exploreRows({ root, y, step, width, floor }, pairs.length, k => [[null, `${pairs[k].first} − ${pairs[k].second}`, true],
      [null, `${cellWith(pairs[k].difference)}, ${pairs[k].difference[3]} seeds`], [null, `p (Holm) ${format(pairs[k].holm_p)}`]]);
    slot.replaceChildren(root);
  });
}
