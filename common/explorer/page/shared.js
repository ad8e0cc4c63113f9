// The shared memory of the chosen block: a column for each of the 32 banks, word after word.

import { element, prepare, whenPointed } from "./elements.js";
import { drawCells, writeValues } from "./grid.js";
import { MARK } from "./run.js";
import { colours } from "./theme.js";
import { value } from "./words.js";

export const BANKS = 32;
const HEAD = 16;
const FONT = "10px system-ui, sans-serif";

/// The array that a word of shared memory belongs to, and the word's name in it.
export function sharedName(arrays, word) {
  const array = arrays.find(({ offset, bytes }) => 4 * word >= offset && 4 * word < offset + bytes);
  if (!array) return null;
  let rest = (4 * word - array.offset) / 4;
  const indices = [...array.extents].reverse().map((extent, level, all) => {
    const index = level === all.length - 1 ? rest : rest % extent;
    rest = Math.floor(rest / extent);
    return index;
  });
  return `${array.name}${(indices.length ? indices.reverse() : [rest]).map((index) => `[${index}]`).join("")}`;
}

/// Room for the longest name of a word.
function marginOf(canvas, arrays) {
  const context = canvas.getContext("2d");
  context.font = FONT;
  const longest = arrays.map(
    ({ offset, bytes }) => context.measureText(sharedName(arrays, (offset + bytes) / 4 - 1) ?? "").width,
  );
  return 12 + Math.max(24, ...longest);
}

/// Draws the words. Returns which word lies at a point, and the rows that the chosen warp touches.
function drawShared(canvas, run, width) {
  const { shared, marksShared } = run.values;
  const tones = colours();
  const arrays = run.launch.shared;
  const rows = Math.ceil(shared.length / BANKS);
  const margin = marginOf(canvas, arrays);
  const cell = Math.min(26, (width - margin - 2) / BANKS);
  const high = rows > 96 ? 5 : rows > 48 ? 7 : Math.min(14, cell);
  const context = prepare(canvas, width, HEAD + rows * high + 2);
  context.font = FONT;
  context.fillStyle = tones.muted;
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (let bank = 0; bank < BANKS; bank += cell >= 16 ? 1 : 4) context.fillText(bank, margin + (bank + 0.5) * cell, 7);
  context.textAlign = "right";
  context.fillText("bank", margin - 6, 7);
  const every = Math.max(1, Math.ceil(12 / high));
  const starts = new Set(arrays.map(({ offset }) => Math.floor(offset / 4 / BANKS)));
  for (let row = 0; row < rows; row += 1) {
    if (
      !starts.has(row) &&
      (row % (4 * every) !== 0 || [1, 2, 3].some((near) => starts.has(row - near) || starts.has(row + near)))
    )
      continue;
    const name = sharedName(arrays, row * BANKS);
    if (name) context.fillText(name, margin - 6, HEAD + (row + 0.5) * high);
  }
  const shown = (index) => (marksShared[index] & MARK.written) !== 0;
  const base = (index) => (shown(index) ? [tones.fg, 0.16] : [tones.fg, 0.045]);
  const grid = {
    x: margin,
    y: HEAD,
    rows,
    columns: BANKS,
    cell,
    high,
    marks: marksShared,
    values: shared,
    base,
    shown,
    colours: tones,
  };
  // The last row may be shorter.
  drawCells(context, grid);
  writeValues(context, grid);
  context.strokeStyle = tones.muted;
  for (const { offset } of arrays) {
    if (offset === 0) continue;
    const [row, column] = [Math.floor(offset / 4 / BANKS), (offset / 4) % BANKS];
    context.beginPath();
    context.moveTo(margin, HEAD + (row + (column ? 1 : 0)) * high - 0.5);
    context.lineTo(margin + column * cell, HEAD + (row + (column ? 1 : 0)) * high - 0.5);
    context.lineTo(margin + column * cell, HEAD + row * high - 0.5);
    context.lineTo(margin + BANKS * cell, HEAD + row * high - 0.5);
    context.stroke();
  }
  const live = marksShared.findIndex(
    (mark) => mark & (MARK.laneReads | MARK.laneWrites | MARK.warpReads | MARK.warpWrites),
  );
  return {
    wordAt: (x, y) => {
      const [row, bank] = [Math.floor((y - HEAD) / high), Math.floor((x - margin) / cell)];
      const word = row * BANKS + bank;
      return row >= 0 && bank >= 0 && bank < BANKS && word < shared.length ? word : null;
    },
    live: live < 0 ? null : HEAD + Math.floor(live / BANKS) * high,
  };
}

/// What there is to say of a word.
export function describeWord(run, word) {
  const name = sharedName(run.launch.shared, word) ?? `word ${word}`;
  const mark = run.values.marksShared[word];
  const state = mark & MARK.written ? `= ${value(run.values.shared[word])}` : "has not been written";
  return `${name}, bank ${word % BANKS}, ${state}${mark & MARK.copying ? "; a copy is on its way to it" : ""}`;
}

/// The panel.
export function makeShared(view) {
  const canvas = element("canvas", { role: "img", "aria-label": "Shared memory" });
  const scroll = element("div", { class: "scroll", tabindex: "0", "aria-label": "Words of shared memory" }, canvas);
  const hint = element("p", { class: "hint" });
  const copies = element("p", { class: "copies" });
  const legend = element("p", { class: "legend" });
  legend.innerHTML = `<i class="chosen"></i>the chosen thread <i class="read"></i>read by its warp <i class="write"></i>written by it <i class="others"></i>other warps
    <i class="copying"></i>a copy on its way <i class="stored"></i>written before`;
  const none = element("p", { class: "muted", text: "This kernel uses no shared memory." });
  const root = element(
    "section",
    { class: "panel shared", "aria-label": "Shared memory" },
    none,
    scroll,
    hint,
    copies,
    legend,
  );
  let wordAt = () => null;
  whenPointed(canvas, (x, y) => {
    const word = wordAt(x, y);
    hint.textContent = word === null ? "" : describeWord(view.run, word);
  });
  return {
    id: "shared",
    title: "Shared memory",
    root,
    draw() {
      const used = view.run.values.shared.length > 0;
      none.hidden = used;
      for (const part of [scroll, hint, legend]) part.hidden = !used;
      copies.textContent = copiesSentence(view.run);
      copies.hidden = copies.textContent === "";
      if (!used) return;
      const drawn = drawShared(canvas, view.run, view.room().width - 14);
      wordAt = drawn.wordAt;
      if (
        drawn.live !== null &&
        (drawn.live < scroll.scrollTop || drawn.live > scroll.scrollTop + scroll.clientHeight - 20)
      ) {
        scroll.scrollTop = Math.max(0, drawn.live - 40);
      }
      canvas.setAttribute("aria-label", `${view.run.values.shared.length} words of shared memory in 32 banks.`);
    },
  };
}

/// The asynchronous copies that are on their way.
function copiesSentence({ look }) {
  if (look.copies.length === 0) return "";
  const warps = new Set(look.copies.map(({ warp }) => warp)).size;
  const lanes = look.copies.reduce((sum, { lanes }) => sum + lanes, 0);
  return `${look.copies.length} copy instructions of ${warps} ${warps === 1 ? "warp" : "warps"} are on their way, ${lanes} copies of threads: nobody may read these words before a wait and a barrier.`;
}
