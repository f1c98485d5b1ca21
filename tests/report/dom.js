// Returns what a reader of the page would complain of, a sentence each; dom.py runs it.
() => {
  const found = [], say = text => found.length < 12 && found.push(text);
  const wide = document.documentElement.scrollWidth, room = document.documentElement.clientWidth;
  if (wide > room) {
    say(`the page is ${wide} wide and the window ${room}`);
    for (const one of document.querySelectorAll("main *")) {
      const box = one.getBoundingClientRect();
      if (box.right > room + 1 && !one.closest(".wide, details")) { say(`${one.tagName}.${one.className} reaches ${box.right}`); break; }
    }
  }
  const seen = one => one.getClientRects().length > 0 && getComputedStyle(one).visibility !== "hidden";
  for (const root of document.querySelectorAll("svg.chart")) {
    if (!seen(root)) continue;
    const name = (root.getAttribute("aria-label") || "").slice(0, 50);
    if (/NaN|undefined|Infinity/.test(root.outerHTML)) say(`NaN in ${name}`);
    const texts = [...root.querySelectorAll("text")].filter(seen).map(one => [one.textContent, one.getBoundingClientRect()]);
    texts.forEach(([text, box], i) => {
      if (box.left < -1 || box.right > room + 1) say(`"${text}" is cut at the window (${name})`);
      for (const [other, that] of texts.slice(i + 1)) {
        const x = Math.min(box.right, that.right) - Math.max(box.left, that.left), y = Math.min(box.bottom, that.bottom) - Math.max(box.top, that.top);
        // Boxes of text have air above and below.
        if (x > 1 && y > 4.5) say(`"${text}" and "${other}" overlap (${name})`);
      }
    });
    const frame = root.getBoundingClientRect();
    for (const one of root.querySelectorAll("path, circle, rect")) {
      if (one.closest("defs, pattern")) continue;
      const box = one.getBoundingClientRect();
      if (box.left < frame.left - 9 || box.right > frame.right + 9 || box.top < frame.top - 9 || box.bottom > frame.bottom + 9) { say(`a mark lies outside of its drawing (${name})`); break; }
    }
  }
  for (const one of document.querySelectorAll("section canvas")) {
    if (!seen(one)) continue;
    const box = one.getBoundingClientRect();
    if (box.right > room + 1) say(`a matrix reaches ${box.right}`);
    if (one.width < 2 || one.height < 2) say("a matrix is empty");
  }
  for (const one of document.querySelectorAll("[data-picture=ahead], [data-picture=learning], .curves figure > div, .split figure > div, .forest")) {
    if (seen(one) && !one.querySelector("svg, canvas")) say(`nothing is drawn in ${one.className} ${one.dataset.picture || ""}`);
  }
  return found;
}
