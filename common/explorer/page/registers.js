// What the chosen thread holds: its sums, as they lie in C, and its registers.

import { element, fill } from "./elements.js";
import { place, value } from "./words.js";

const registerValue = (number) => (number === null ? "" : typeof number === "number" ? value(number) : number);

/// The sums as a small copy of C: only the rows and columns that the thread computes.
function sumsTable(sums, registers) {
  const sorted = (key) => [...new Set(sums.map((sum) => sum[key]))].sort((a, b) => a - b);
  const [rows, columns] = [sorted("row"), sorted("column")];
  const fresh = new Set(registers.filter(({ now }) => now).map(({ name }) => name));
  const at = new Map(sums.map((sum) => [`${sum.row},${sum.column}`, sum]));
  const cell = (row, column) => {
    const sum = at.get(`${row},${column}`);
    if (!sum) return element("td");
    const done = sum.value !== null && Math.abs(sum.value - sum.expected) <= 1e-4 * Math.max(1, Math.abs(sum.expected));
    return element("td", {
      class: [fresh.has(sum.register) && "fresh", done && "done"].filter(Boolean).join(" "),
      text: sum.value === null ? "" : shortly(sum.value), title: `C[${row}][${column}] is ${registerValue(sum.value) || "not begun"}, and becomes ${registerValue(sum.expected)} (${sum.register})`,
    });
  };
  return element("table", { class: "sums" },
    element("thead", {}, element("tr", {}, element("th", { text: "row \\ col" }), ...columns.map((column) => element("th", { text: column })))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, element("th", { text: row }), ...columns.map((column) => cell(row, column))))));
}

const shortly = (number) => (typeof number !== "number" ? number : Number.isInteger(number) ? String(number) : number.toFixed(Math.abs(number) < 10 ? 2 : 1));

function registerList(registers) {
  return element("ul", { class: "registers" }, ...registers.map(({ name, label, type, value: number, now }) =>
    element("li", { class: now ? "fresh" : "", title: `${name}, ${type}` },
      element("span", { class: "name", text: label ?? name }), label ? element("span", { class: "muted", text: ` ${name}` }) : null,
      element("span", { class: "is", text: registerValue(number) }))));
}

/// The panel.
export function makeRegisters(view) {
  const heading = element("p", { class: "says" });
  const sums = element("div", { class: "scroll-x" });
  const list = element("div", { class: "scroll" });
  const root = element("section", { class: "panel thread", "aria-label": "Registers of the chosen thread" }, heading, sums, list);
  return {
    id: "registers", title: "Registers", root,
    draw() {
      const { run } = view;
      const { look } = run;
      heading.textContent = `Thread ${place(run.threadName())} of block ${place(run.blockName())}, lane ${run.chosen.lane} of warp ${run.chosen.warp}${look.sums.length ? `: its ${look.sums.length === 1 ? "sum" : `${look.sums.length} sums`} of C` : ""}`;
      fill(sums, look.sums.length ? sumsTable(look.sums, look.registers) : null);
      const named = look.registers.filter(({ label }) => label);
      const others = look.registers.filter(({ label }) => !label);
      fill(list, look.registers.length ? registerList([...named, ...others]) : element("p", { class: "muted", text: "It has not written any register yet." }));
    },
  };
}
