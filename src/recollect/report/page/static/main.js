// The switches of the learners, and everything drawn.
const count = element("span", { class: "count" });

function changed() {
  count.textContent = `${shown.size} of ${page.labels.length} shown`;
  hideRows();
  redrawAll();
}

function switches() {
  const form = document.querySelector(".legend"), host = form.querySelector(".switches"), boxes = [];
  if (page.labels.length < 2) return;
  for (const label of page.labels) {
    const box = element("input", { type: "checkbox" });
    box.checked = shown.has(label);
    box.value = label;
    box.addEventListener("change", () => { if (box.checked) shown.add(label); else shown.delete(label); changed(); });
    boxes.push(box);
    host.append(element("label", { title: label }, box, swatch(label), element("span", {}, label)));
  }
  const all = element("button", { type: "button" }, "all"), none = element("button", { type: "button" }, "none");
  const set = on => { for (const box of boxes) { box.checked = on; if (on) shown.add(box.value); else shown.delete(box.value); } changed(); };
  all.addEventListener("click", () => set(true));
  none.addEventListener("click", () => set(false));
  host.append(all, none, count);
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
}

switches();
for (const button of document.querySelectorAll(".print")) { button.hidden = false; button.addEventListener("click", () => print()); }
document.querySelectorAll("[data-picture]").forEach(picture);
document.querySelectorAll("table.learners").forEach(tableOf);
document.querySelectorAll("button.more").forEach(moreColumns);
document.querySelectorAll(".forest").forEach(forestOf);
document.querySelectorAll("select.compared").forEach(comparedBy);
document.querySelectorAll(".curves").forEach(curvesOf);
document.querySelectorAll(".online").forEach(onlineOf);
document.querySelectorAll(".costs").forEach(costsOf);
document.querySelectorAll(".matrices").forEach(matricesOf);
document.querySelectorAll(".split").forEach(splitOf);
changed();
soon(drawRest);

let width = innerWidth, waiting = 0;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; clearTimeout(waiting); waiting = setTimeout(redrawAll, 120); } });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawAll());
matchMedia("print").addEventListener("change", () => redrawAll(true));
addEventListener("beforeprint", () => redrawAll(true));
addEventListener("afterprint", () => redrawAll());
