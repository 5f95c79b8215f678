"use strict";
// Without it everything can be read. With it tables can be sorted and filtered, a link opens the sections
// around its place, charts can be enlarged, and all sections are open on paper.
const FACTORS = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 6e10, k: 1e3, M: 1e6, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
// Rows and columns from which a table can be sorted; rows from which it can be filtered.
const SORTED_ROWS = 3, SORTED_COLUMNS = 3, FILTERED_ROWS = 15;

// "≈ 3.4×", "19.2 µs", "< 0.1 %", "2^24", "batch 2^24"; text without a number is not one.
function numberOf(text) {
  const found = /^(?:batch |width )?[≈<>±\s]*(-?[\d.]+(?:e[-+]?\d+)?)(\^\d+)?\s*([a-zA-Zµ]*)/.exec(text);
  if (!found) return NaN;
  const value = found[2] ? found[1] ** Number(found[2].slice(1)) : Number(found[1]);
  return value * (FACTORS[found[3]] ?? 1);
}

// A case is a body of its own, with its details.
function rowsOf(table) {
  return table.tBodies.length > 1 ? [...table.tBodies] : [...table.tBodies[0].rows];
}

function cellText(row, column) {
  return (row.rows ? row.rows[0] : row).cells[column]?.textContent.trim() ?? "";
}

// Cells without a number are last, up and down.
function compare(a, b, sign) {
  const x = numberOf(a), y = numberOf(b);
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
  return sign * (isNaN(x) ? a.localeCompare(b, "en", { numeric: true }) : x - y);
}

function sort(table, heading) {
  const up = heading.ariaSort !== "ascending", column = heading.cellIndex;
  for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
  heading.ariaSort = up ? "ascending" : "descending";
  const rows = rowsOf(table), parent = rows[0].parentNode;
  const keyed = rows.map((row) => [cellText(row, column), row]);
  keyed.sort((a, b) => compare(a[0], b[0], up ? 1 : -1));
  parent.append(...keyed.map((pair) => pair[1]));
}

function addSorting(table) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, heading));
    heading.append(button);
  }
}

// Rows that contain every word; 4096 is in 2^12, too.
function filter(table, words, count) {
  let shown = 0;
  const rows = rowsOf(table);
  for (const row of rows) {
    const text = (row.rows ? row.rows[0] : row).textContent.toLowerCase()
      .replace(/2\^(\d+)/g, (power, n) => `${power} ${2 ** n}`);
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  count.value = `${shown} of ${rows.length} rows`;
}

function addFilter(table) {
  const label = document.createElement("label"), input = document.createElement("input");
  const count = document.createElement("output");
  label.className = "filter";
  input.type = "search";
  input.placeholder = "all of these words";
  input.addEventListener("input", () => filter(table, input.value.toLowerCase().split(/\s+/), count));
  label.append("Filter rows", input, count);
  table.parentNode.before(label);
}

function openAround() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.scrollIntoView();
}

for (const table of document.querySelectorAll(".table > table")) {
  const n = rowsOf(table).length;
  if (n >= SORTED_ROWS && table.tHead.rows[0].cells.length >= SORTED_COLUMNS) addSorting(table);
  if (n >= FILTERED_ROWS) addFilter(table);
}
addEventListener("hashchange", openAround);
openAround();

// A chart shows itself larger, and as it was: on a click, or with Enter.
for (const chart of document.querySelectorAll(".chart")) {
  const toggle = () => chart.parentNode.classList.toggle("large");
  chart.tabIndex = 0;
  chart.addEventListener("click", toggle);
  chart.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle(); });
}
addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelector("figure.large")?.classList.remove("large");
});

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
