// Curves that come with a stream beside its metrics: two side by side, each with a scale of its own unless they share one.
function sideBySide(host, over, titles, says, isShared) {
  const row = element("div", { class: "two" }), slots = new Map(), current = () => over.learners.filter(one => shown.has(one.label));
  host.append(row);
  for (const id of Object.keys(titles)) {
    const slot = element("div", {}), time = timeOf(over);
    row.append(element("figure", {}, element("figcaption", {}, element("b", {}, titles[id]), says), slot,
      numbersTable(titles[id], over.words.moment, Array.from({ length: time.n }, (_, k) => time.row(k)), () => current().map(one => [one.label, k => at(band(one.curves[id]), k)]))));
    slots.set(id, slot);
  }
  drawn(row, () => {
    const bands = ids => current().flatMap(one => ids.map(id => band(one.curves[id])));
    for (const [id, slot] of slots) lineChart(slot, over, id, current(), limits(bands(isShared ? [...slots.keys()] : [id]), over.bounded));
  });
}

// Scores of samples before they were learned; a dotted line is a change of the stream.
function onlineOf(host) {
  const stream = page.streams[host.dataset.stream], watched = stream.watched, { words } = stream;
  const titles = { sliding: `${words.score}, the newest ${watched.window} samples`, fading: `${words.score}, older samples fading (${watched.fading.toFixed(4)})` };
  const learners = stream.learners.filter(one => watched.curves[one.label]).map(one => ({ ...one, curves: watched.curves[one.label], learned_at: watched.drifts, plateau: null }));
  const numbers = watched.steps.map(step => step < 10000 ? step : `${Math.round(step / 100) / 10}k`);
  const over = { ...stream, titles, learners, rows: watched.steps.map(step => `sample ${step}`), numbers, words: { ...words, moment: "sample", axis: "samples presented" } };
  const says = watched.drifts.length ? ". A dotted line marks where the stream changes." : watched.own_drifts ? ". Every run has its own places where the stream changes." : "";
  sideBySide(host, over, titles, says, true);
}

function costsOf(host) {
  const stream = page.streams[host.dataset.stream], titles = { seconds: "seconds", megabytes: "megabytes" };
  const learners = stream.learners.filter(one => stream.costs[one.label]).map(one => ({ ...one, curves: stream.costs[one.label], plateau: null }));
  sideBySide(host, { ...stream, titles, learners, bounded: false }, titles, "", false);
}
