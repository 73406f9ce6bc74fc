"use strict";

// Sorting and filtering of tables. Everything else on the page works without this.
(() => {
  document.documentElement.classList.add("js");

  const cells = new WeakMap();
  const texts = new WeakMap();

  // Numbers sort by their exact value, an empty cell comes last either way.
  function value(row, index, kind) {
    const cell = row.cells[index];
    if (kind !== "number") return cell.textContent;
    const exact = cell.dataset.value;
    return exact === undefined ? null : Number(exact);
  }

  function compare(a, b) {
    if (typeof a === "number") return a - b;
    return a.localeCompare(b, "en", { numeric: true });
  }

  function sort(table, head, direction) {
    const { index, kind } = head.dataset;
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows, (row) => [value(row, index, kind), row]);
    const empty = keyed.filter(([key]) => key === null);
    const full = keyed.filter(([key]) => key !== null);
    full.sort(([a], [b]) => direction * compare(a, b));
    body.append(...[...full, ...empty].map(([, row]) => row));
    for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    for (const head of table.querySelectorAll("th[data-index]")) {
      const button = head.querySelector("button");
      button.disabled = false;
      button.addEventListener("click", () => {
        sort(table, head, head.getAttribute("aria-sort") === "ascending" ? -1 : 1);
      });
    }
  }

  function text(row) {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  }

  function filter(form, table) {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = Array.from(form.querySelectorAll("select"))
      .filter((list) => list.value !== "")
      .map((list) => [list.dataset.index, list.value]);
    let left = 0;
    for (const row of table.tBodies[0].rows) {
      const chosen = wanted.every(([index, one]) => row.cells[index].textContent === one);
      row.hidden = !(chosen && words.every((word) => text(row).includes(word)));
      left += row.hidden ? 0 : 1;
    }
    const all = table.tBodies[0].rows.length;
    const count = (number) => number.toLocaleString("en");
    form.querySelector("output").textContent = left === all ? `${count(all)} rows` : `${count(left)} of ${count(all)} rows`;
    table.classList.toggle("filtered", left !== all);
  }

  for (const form of document.querySelectorAll("form.filters")) {
    const table = document.getElementById(form.dataset.for);
    form.hidden = false;
    form.addEventListener("input", () => filter(form, table));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => filter(form, table)));
  }

  // A link to a mapping opens it.
  function open() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", open);
  open();

  for (const buttons of document.querySelectorAll(".buttons")) {
    buttons.hidden = false;
    buttons.addEventListener("click", (event) => {
      const which = event.target.dataset.fold;
      if (which === undefined) return;
      for (const fold of buttons.parentElement.querySelectorAll("details")) fold.open = which === "open";
    });
  }
})();
