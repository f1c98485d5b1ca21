// Section 2: the table of learners sorts, switches definitions, and hides learners. Section 6: its menus.
function cellText(number, unit) {
  const [value] = number;
  if (value === null) return "–";
  if (!unit && Math.abs(value) <= 10) return format(value);
  return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3))).replace("-", "−");
}

function fillCell(cell, number, unit) {
  cell.removeAttribute("title");
  cell.classList.toggle("absent", !number || number[0] === null);
  if (!number || number[0] === null) {
    cell.replaceChildren("not measured");
    if (number && number[4]) cell.title = number[4];
    return;
  }
  const [, low, high, n] = number, small = element("small");
  if (low !== null && high !== null) small.append(`[${cellText([low], unit)}, ${cellText([high], unit)}]`);
  cell.replaceChildren(cellText(number, unit), element("span", { class: "n" }, element("span", { class: "unseen" }, ", n = "), String(n)), small);
}

function tableOf(table) {
  const stream = page.streams[table.dataset.stream], body = table.tBodies[0], rows = [...body.rows];
  const current = new Map(stream.columns.map(column => [column.key, column.id]));
  const units = new Map(stream.columns.map(column => [column.key, column.unit]));
  const describe = (head, id) => { if (page.summaries[id]) head.querySelector("button").title = `${page.summaries[id]} (${page.better[id]} is better)`; };
  const read = (row, key) => {
    const one = stream.learners[row.dataset.place];
    if (key === "label") return one.label;
    const number = one.numbers[current.get(key)];
    return number ? number[0] : null;
  };
  const sort = (head, direction) => {
    const key = head.dataset.key, sign = direction === "ascending" ? 1 : -1;
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", other === head ? direction : "none");
    rows.sort((a, b) => {
      const [x, y] = [read(a, key), read(b, key)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
    });
    body.append(...rows);
  };
  for (const head of table.tHead.rows[0].cells) {
    const key = head.dataset.key, menu = head.querySelector("select");
    if (key !== "label") describe(head, current.get(key));
    head.querySelector("button").addEventListener("click", () => sort(head, head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending"));
    if (menu) menu.addEventListener("change", () => {
      current.set(key, menu.value);
      describe(head, menu.value);
      head.querySelector("code").textContent = menu.value.replace(/^(timings|cost)\./, "").replace(/([._])/g, "$1\u200b");
      for (const row of rows) fillCell(row.querySelector(`[data-key="${key}"]`), stream.learners[row.dataset.place].numbers[menu.value], units.get(key));
      const order = head.getAttribute("aria-sort");
      if (order !== "none") sort(head, order);
    });
  }
  for (const row of rows) row.querySelector(".swatch").append(swatch(row.dataset.label));
}

function moreColumns(button) {
  const table = button.closest("section").querySelector(`table.learners[data-stream="${button.dataset.stream}"]`);
  button.addEventListener("click", () => {
    const open = table.classList.toggle("all");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "fewer columns" : button.dataset.label;
  });
}

function hideRows() {
  for (const row of document.querySelectorAll("tr[data-label]")) row.hidden = !shown.has(row.dataset.label);
  for (const row of document.querySelectorAll("tr[data-first]")) row.hidden = !(shown.has(row.dataset.first) && shown.has(row.dataset.second));
}

function comparedBy(menu) {
  menu.addEventListener("change", () => {
    for (const table of document.querySelectorAll(".compared-by")) if (table.dataset.stream === menu.dataset.stream) table.hidden = table.dataset.table !== menu.value;
  });
}
