// Comparisons as a forest: each pair's difference with its interval, and the line of no difference.
function forestOf(host) {
  const stream = page.streams[host.dataset.stream], table = stream.comparisons[host.dataset.table];
  const slot = element("div", {});
  host.append(slot);
  drawn(host, () => {
    const pairs = table.pairs.filter(pair => shown.has(pair.first) && shown.has(pair.second) && pair.difference[0] !== null);
    if (!pairs.length) return slot.replaceChildren();
    // In a narrow page the two names of a pair stand below each other.
    const width = Math.max(280, slot.clientWidth || 600), narrow = width < 480, step = narrow ? 32 : 19, bottom = 32, floor = 6 + step * pairs.length, right = 16;
    const most = narrow ? Math.floor((width * .45 - 16) / 6.4) - 2 : 26, names = pairs.map(pair => [short(pair.first, most), `− ${short(pair.second, most)}`]);
    const letters = names.map(([first, second]) => narrow ? Math.max(first.length, second.length) : first.length + 1 + second.length), left = Math.min(width * .6, 16 + 6.4 * Math.max(...letters));
    const ends = pairs.flatMap(pair => [pair.difference[0], pair.difference[1] ?? 0, pair.difference[2] ?? 0]);
    const low = Math.min(0, ...ends), high = Math.max(0, ...ends), pad = (high - low || 1) * .03;
    const x = v => left + (v - low + pad) / (high - low + 2 * pad) * (width - left - right), y = i => 6 + step * (i + .5);
    const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${floor + bottom}`, role: "img", tabindex: "0",
      "aria-label": `Differences in ${table.id}: ` + pairs.map((pair, i) => `${names[i].join(" ")} ${cellWith(pair.difference)}`).slice(0, 20).join(", ") });
    for (const v of ticks(low, high, Math.max(2, Math.floor((width - left) / 80)))) {
      root.append(svg("line", { class: v === 0 ? "axis" : "grid", x1: x(v), x2: x(v), y1: 2, y2: floor }));
      const text = svg("text", { x: x(v), y: floor + 14, "text-anchor": "middle" });
      text.textContent = String(Math.round(v * 1000) / 1000).replace("-", "−");
      root.append(text);
    }
    const below = svg("text", { x: left + (width - left - right) / 2, y: floor + 28, "text-anchor": "middle" });
    below.textContent = narrow ? table.id : `difference in ${table.id} (${table.better} is better)`;
    if (narrow) { below.setAttribute("x", width - right); below.setAttribute("text-anchor", "end"); }
    root.append(below);
    pairs.forEach((pair, i) => {
      (narrow ? names[i] : [names[i].join(" ")]).forEach((name, line) => {
        const text = svg("text", { class: "label", x: left - 10, y: y(i) + (narrow ? 13 * line - 2 : 4), "text-anchor": "end" });
        text.textContent = name;
        root.append(text);
      });
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
