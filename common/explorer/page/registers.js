// What the chosen thread holds: its sums, as they lie in C, and its registers.

import { element, fill, keepRows, setText } from "./elements.js";
import { place, value } from "./words.js";

const registerValue = (number) => (number === null ? "" : typeof number === "number" ? value(number) : number);
const shortly = (number) =>
  typeof number !== "number"
    ? number
    : Number.isInteger(number)
      ? String(number)
      : number.toFixed(Math.abs(number) < 10 ? 2 : 1);
const sumKey = ({ row, column }) => `${row},${column}`;

/// The sums as a small copy of C: only the rows and columns that the thread computes.
function makeSums(sums) {
  const sorted = (key) => [...new Set(sums.map((sum) => sum[key]))].sort((a, b) => a - b);
  const [rows, columns] = [sorted("row"), sorted("column")];
  const cells = new Map(sums.map((sum) => [sumKey(sum), element("td")]));
  const root = element(
    "table",
    { class: "sums" },
    element(
      "thead",
      {},
      element("tr", {}, element("th", { text: "row" }), ...columns.map((column) => element("th", { text: column }))),
    ),
    element(
      "tbody",
      {},
      ...rows.map((row) =>
        element(
          "tr",
          {},
          element("th", { text: row }),
          ...columns.map((column) => cells.get(sumKey({ row, column })) ?? element("td")),
        ),
      ),
    ),
  );
  return { root, cells };
}

function drawSums(cells, sums, registers) {
  const fresh = new Set(registers.filter(({ now }) => now).map(({ name }) => name));
  for (const sum of sums) {
    const cell = cells.get(sumKey(sum));
    const done =
      typeof sum.value === "number" && Math.abs(sum.value - sum.expected) <= 1e-4 * Math.max(1, Math.abs(sum.expected));
    setText(cell, sum.value === null ? "" : shortly(sum.value));
    cell.className = [fresh.has(sum.register) && "fresh", done && "done"].filter(Boolean).join(" ");
    cell.title = `C[${sum.row}][${sum.column}] is ${registerValue(sum.value) || "not begun"}, and becomes ${registerValue(sum.expected)} (${sum.register})`;
  }
}

/// Kinds of meanings that say most about the product: these come first.
const FIRST = ["sum", "product", "element", "address"];

/// A register in the list: what it means, its name, and its value.
function registerRow(name) {
  const [means, is] = [element("span", { class: "name" }), element("span", { class: "is" })];
  return { means, is, root: element("li", { title: name }, means, element("span", { class: "muted", text: name }), is) };
}

/// The panel.
export function makeRegisters(view) {
  const heading = element("p", { class: "says" });
  const sums = element("div", { class: "scroll-x" });
  const list = element("ul", { class: "registers" });
  const none = element("p", { class: "muted", text: "It has not written any register yet." });
  const root = element(
    "section",
    { class: "panel thread", "aria-label": "Registers of the chosen thread" },
    heading,
    sums,
    none,
    element("div", { class: "scroll" }, list),
  );
  const rowsOf = keepRows(list, registerRow);
  let known = null;
  let table = null;
  let asked = 0;

  /// The registers, with what they mean once the engine has said it.
  function showList(registers, meanings) {
    const rank = ({ name }) => {
      const at = FIRST.indexOf(meanings[name]?.kind);
      return at < 0 ? FIRST.length : at;
    };
    const sorted = [...registers].sort((one, other) => rank(one) - rank(other));
    const rows = rowsOf(sorted.map(({ name }) => name));
    for (const { name, value: holds, now } of sorted) {
      const row = rows.get(name);
      setText(row.means, meanings[name]?.words ?? "");
      setText(row.is, meanings[name]?.kind === "address" ? "" : registerValue(holds));
      row.root.className = [now && "fresh", meanings[name]?.wrong && "fault"].filter(Boolean).join(" ");
    }
  }

  return {
    id: "registers",
    title: "Registers",
    root,
    draw() {
      const { run } = view;
      const { look, chosen } = run;
      const number = look.sums.length;
      const has = number === 0 ? "" : `. The ${number === 1 ? "sum" : `${number} sums`} that it stores to C:`;
      setText(
        heading,
        `Thread ${place(run.threadName())} of block ${place(run.blockName())}, lane ${chosen.lane} of warp ${chosen.warp}${has}`,
      );
      const keys = look.sums.map(sumKey).join(" ");
      if (keys !== known) {
        known = keys;
        table = number ? makeSums(look.sums) : null;
        fill(sums, table?.root);
      }
      if (table) drawSums(table.cells, look.sums, look.registers);
      none.hidden = look.registers.length > 0;
      const summed = new Set(look.sums.map(({ register }) => register));
      const others = look.registers.filter(({ name }) => !summed.has(name));
      const mine = (asked += 1);
      run.meaning("registers").then(({ registers }) => mine === asked && showList(others, registers), () => showList(others, {}));
    },
  };
}
