// What the chosen thread holds: the sums of elements of C, as they lie in C, and its other registers.

import { element, fill, keepRows, setText, table } from "./elements.js";
import { place, several, value } from "./words.js";

const registerValue = (number) => (typeof number === "number" ? value(number) : (number ?? ""));
const shortly = (number) =>
  typeof number !== "number" || Number.isInteger(number) ? String(number) : number.toFixed(Math.abs(number) < 10 ? 2 : 1);

/// The number that a register holds. Rust keeps fractions in registers without a type.
const heldBy = (number, meaning, { facts }) =>
  facts.dtype === "f32" && ["element", "product", "sum"].includes(meaning?.kind) && Math.abs(number) >= 2 ** 23
    ? new Float32Array(Int32Array.of(number).buffer)[0]
    : number;

/// The registers that hold sums of elements of C: of each element the one with most products.
function sumsOf(registers, meanings) {
  const sums = new Map();
  for (const register of registers) {
    const meaning = meanings[register.name];
    const key = meaning?.element?.join();
    if (key && !(sums.get(key)?.meaning.products > meaning.products)) sums.set(key, { ...register, meaning });
  }
  return sums;
}

/// The sums as a small copy of C: only the rows and columns that the thread computes.
function makeSums(keys) {
  const sorted = (at) => [...new Set(keys.map((key) => Number(key.split(",")[at])))].sort((a, b) => a - b);
  const cells = new Map(keys.map((key) => [key, element("td")]));
  const row = (number) =>
    element("tr", {}, element("th", { text: number }), ...sorted(1).map((column) => cells.get(`${number},${column}`) ?? element("td")));
  const root = table({ class: "sums" }, ["row", ...sorted(1)], element("tbody", {}, ...sorted(0).map(row)));
  return { root, cells };
}

function drawSums(cells, sums, { facts, values }) {
  for (const [key, { name, value: is, now, meaning }] of sums) {
    const { element: [row, column], products, of, words } = meaning;
    const cell = cells.get(key);
    const holds = heldBy(is, meaning, { facts });
    setText(cell, shortly(holds));
    cell.className = [now && "fresh", products === of && "done"].filter(Boolean).join(" ");
    cell.title = `${words}: ${registerValue(holds)} in ${name}. It becomes ${value(values.expected[row * facts.n + column])}`;
  }
}

/// Kinds of meanings that say most about the product come first.
const RANKS = { sum: 0, product: 1, element: 2, address: 3 };

/// A register in the list: what it means, its name, and its value.
function registerRow(name) {
  const [means, is] = [element("span", { class: "name" }), element("span", { class: "is" })];
  return { means, is, root: element("li", { title: name }, means, element("span", { class: "muted", text: name }), is) };
}

/// The panel.
export function makeRegisters(view) {
  const heading = element("p", { class: "says" });
  const shownSums = element("div", { class: "scroll-x" });
  const list = element("ul", { class: "registers" });
  const none = element("p", { class: "muted", text: "It has not written any register yet." });
  const root = element(
    "section",
    { class: "panel thread", "aria-label": "Registers of the chosen thread" },
    heading,
    shownSums,
    none,
    element("div", { class: "scroll" }, list),
  );
  const rowsOf = keepRows(list, registerRow);
  let known = null;
  let cells = null;
  let asked = 0;

  /// The registers, with what they mean once the engine has said it.
  function show(run, meanings) {
    const sums = sumsOf(run.look.registers, meanings);
    const keys = [...sums.keys()];
    const has = sums.size > 0 ? `. It holds ${several(sums.size, "sum")} of C:` : "";
    const thread = `Thread ${place(run.threadName())} of block ${place(run.blockName())}`;
    setText(heading, `${thread}, lane ${run.chosen.lane} of warp ${run.chosen.warp}${has}`);
    if (keys.join(" ") !== known) {
      known = keys.join(" ");
      const made = keys.length > 0 ? makeSums(keys) : null;
      cells = made?.cells;
      fill(shownSums, made?.root);
    }
    if (cells) drawSums(cells, sums, run);
    const summed = new Set([...sums.values()].map(({ name }) => name));
    const rank = ({ name }) => RANKS[meanings[name]?.kind] ?? Infinity;
    const others = run.look.registers.filter(({ name }) => !summed.has(name)).sort((one, other) => rank(one) - rank(other) || 0);
    const rows = rowsOf(others.map(({ name }) => name));
    for (const { name, value: holds, now } of others) {
      const [row, meaning] = [rows.get(name), meanings[name]];
      setText(row.means, meaning?.words ?? "");
      setText(row.is, meaning?.kind === "address" ? "" : registerValue(heldBy(holds, meaning, run)));
      row.root.className = [now && "fresh", meaning?.wrong && "fault"].filter(Boolean).join(" ");
    }
  }

  return {
    root,
    draw() {
      const { run } = view;
      none.hidden = run.look.registers.length > 0;
      const mine = (asked += 1);
      const told = ({ registers }) => mine === asked && show(run, registers);
      run.meaning("registers").then(told, () => told({ registers: {} }));
    },
  };
}
