// Scores of samples before they were learned, over time; a dotted line is a change of the stream.
function onlineOf(host) {
  const stream = page.streams[host.dataset.stream], watched = stream.watched, { words } = stream;
  const titles = { sliding: `${words.score}, the newest ${watched.window} samples`, fading: `${words.score}, older samples fading (${watched.fading.toFixed(4)})` };
  const learners = stream.learners.filter(one => watched.curves[one.label]).map(one => ({ ...one, curves: watched.curves[one.label], learned_at: watched.drifts, plateau: null }));
  const over = { ...stream, titles, learners, rows: watched.steps.map(step => `sample ${step}`), numbers: watched.steps.map(step => step < 10000 ? step : `${Math.round(step / 100) / 10}k`), words: { ...words, moment: "sample", axis: "samples presented" } };
  const row = element("div", { class: "two" }), slots = new Map();
  host.append(row);
  for (const kind of Object.keys(titles)) {
    const caption = element("figcaption", {}, element("b", {}, titles[kind]));
    if (watched.drifts.length) caption.append(". A dotted line marks where the stream changes.");
    if (watched.own_drifts) caption.append(". Every run has its own places where the stream changes.");
    const slot = element("div", {}), current = () => learners.filter(one => shown.has(one.label));
    row.append(element("figure", {}, caption, slot, numbersTable(titles[kind], "samples presented", watched.steps.map(String), () => current().map(one => [one.label, k => at(band(one.curves[kind]), k)]))));
    slots.set(kind, slot);
  }
  drawn(row, () => {
    const all = learners.filter(one => shown.has(one.label)), made = all.flatMap(one => Object.keys(titles).map(kind => band(one.curves[kind])));
    for (const kind of slots.keys()) lineChart(slots.get(kind), over, kind, all, limits(made));
  });
}
