// What changed: the columns whose scores moved most, from before to now, with intervals and the line of no change.
const MOST_CHANGES = 8;

function changedIn(host, stream) {
  const found = stream.changes.filter(one => shown.has(one.label) && one.difference[0] !== null);
  const labels = [...new Set(found.map(one => one.label))], moved = {};
  for (const one of found) moved[one.task] = Math.max(moved[one.task] ?? 0, Math.abs(one.difference[0]));
  const every = Object.keys(moved), largest = every.sort((a, b) => moved[b] - moved[a]).slice(0, MOST_CHANGES);
  if (!largest.length) return host.replaceChildren();
  const of = largest.map(task => found.filter(one => one.task === task)), ends = of.flat().flatMap(one => one.difference.slice(0, 3).map(v => v ?? one.difference[0]));
  const low = Math.min(0, ...ends), high = Math.max(0, ...ends), pad = (high - low || 1) * .04;
  const axis = `change of ${stream.words.score}` + (largest.length < every.length ? `, the ${largest.length} largest of ${every.length}` : "");
  const made = rows(host, largest.map(task => ({ label: task, role: "" })), [low - pad, high + pad], { axis, right: labels.length > 1 ? 12 : 52,
    title: `${axis}: ` + of.flat().map(one => `${one.task} ${one.label} ${cellWith(one.difference)}`).join(", ") });
  const { root, x, y, step, note } = made, apart = Math.min(6, step * .7 / labels.length);
  of.forEach((ones, i) => {
    for (const one of ones) {
      const [value, from, to] = one.difference, paint = colour(one.label), at = y(i) + (labels.indexOf(one.label) - (labels.length - 1) / 2) * apart;
      if ((from ?? null) !== null) whisker(root, x(from), x(to), at, paint, 0);
      const mark = svg("path", { d: shape(one.label, labels.length > 2 ? 3 : 3.8), transform: `translate(${x(value)},${at})` });
      mark.style.fill = paint;
      root.append(mark);
      if (labels.length === 1) note(i, value);
    }
  });
  exploreRows(made, largest.length, k => [[null, largest[k], true],
    ...of[k].map(one => [labels.length > 1 ? one.label : null, `${cellWith(one.difference)} from ${one.since} to ${one.now}`])]);
  host.replaceChildren(root);
}
