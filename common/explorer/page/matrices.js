// A, B and C: B above C and A to its left, so that an element of C stands where its row of A and its column of B meet. The
// shared memory of the chosen block lies in the corner between A and B, as it lies between them in the kernel.

import { drawRect, drawText, element, prepare, setText, whenPointed } from "./elements.js";
import { cellSize, drawCells, writeValues } from "./grid.js";
import { litBy, meaningOf, meaningWords, withStep } from "./meaning.js";
import { MARK } from "./run.js";
import { colours } from "./theme.js";
import { count, several, value } from "./words.js";

const [LABEL, BETWEEN] = [16, 12];
/// Banks of shared memory. An array without known extents has so many columns.
const BANKS = 32;

/// Where the three matrices lie in `width` by at most `height` pixels, and the shared arrays in the corner between them.
function layOutMatrices({ m, n, k }, arrays, width, height) {
  const cell = cellSize(Math.min((width - BETWEEN - 3) / (k + n), (height - BETWEEN - 2 * LABEL) / (k + m)), 1, 34);
  // A frame around a tile of A needs a pixel at the edge.
  const [left, top] = [1 + k * cell + BETWEEN, LABEL + k * cell + BETWEEN];
  return {
    width: left + n * cell + 2,
    height: top + m * cell + LABEL,
    grids: [
      { name: "A", x: 1, y: top, rows: m, columns: k, extents: [m, k], cell },
      { name: "B", x: left, y: LABEL, rows: k, columns: n, extents: [k, n], cell },
      { name: "C", x: left, y: top, rows: m, columns: n, extents: [m, n], cell },
      ...layOutShared(arrays, k * cell, top - BETWEEN, cell),
    ],
  };
}

/// The shared arrays, row for row, beside or below each other, whichever makes them larger. None if they would be too small to see.
function layOutShared(arrays, width, height, largest) {
  const grids = arrays.map(({ name, offset, bytes, extents }) => {
    const columns = extents.at(-1) ?? BANKS;
    const rows = Math.ceil(bytes / 4 / columns);
    return { name, shared: offset / 4, rows, columns, extents: extents.length ? extents : [bytes / 4] };
  });
  const sum = (key) => grids.reduce((total, grid) => total + grid[key], 0);
  const most = (key) => Math.max(...grids.map((grid) => grid[key]));
  const between = BETWEEN * (grids.length - 1);
  const beside = Math.min((width - between) / sum("columns"), (height - LABEL) / most("rows"));
  const below = Math.min(width / most("columns"), (height - between - LABEL * grids.length) / sum("rows"));
  const cell = cellSize(Math.max(beside, below), 1, largest);
  if (grids.length === 0 || Math.max(beside, below) < 1) return [];
  let [x, y] = [0, LABEL];
  for (const grid of grids) {
    Object.assign(grid, { x, y, cell });
    if (beside >= below) x += grid.columns * cell + BETWEEN;
    else y += grid.rows * cell + BETWEEN + LABEL;
  }
  return grids;
}

/// How the element looks when nobody touches it: the more often it has been read, the stronger.
function baseOf(name, run, tones, marks) {
  const { values, facts } = run;
  if (name === "C") {
    // Sums are exact here. What a right run holds on its way is not called wrong.
    const wrong = (index) => !facts.outcome.right && values.c[index] !== values.expected[index];
    return (index) => {
      if (!values.writesC[index]) return [tones.raised, 1];
      return wrong(index) ? [tones.fault, 0.85] : [tones.tile, 0.45];
    };
  }
  if (name !== "A" && name !== "B") return (index) => [tones.fg, marks[index] & MARK.written ? 0.16 : 0.05];
  const reads = name === "A" ? values.readsA : values.readsB;
  const scale = 0.34 / Math.log2(2 + Math.max(facts.m, facts.n));
  return (index) => [tones.fg, 0.08 + Math.min(0.34, Math.log2(1 + reads[index]) * scale)];
}

/// The values and the marks of a grid: those of the latest request, and of what the line has done before it.
function contentOf(grid, { values, look }) {
  const { name, shared, rows, columns } = grid;
  const [held, marks] =
    shared === undefined
      ? [values[name.toLowerCase()], values[`marks${name}`]]
      : [values.shared, values.marksShared].map((all) => all.subarray(shared, shared + rows * columns));
  return [held, withStep(marks, look.step, grid, { reads: MARK.warpReads, writes: MARK.warpWrites })];
}

/// Lights the elements of a meaning, the earlier ones paler, and frames the element that the reader points at.
function drawLit(context, grids, lit, number, pointed, tones) {
  const gridOf = (name) => grids.find((grid) => grid.name === name);
  lit.slice(0, number).forEach((elements, order) => {
    for (const { name, row, column, wrong } of elements) {
      const { x, y, cell } = gridOf(name);
      const box = [x + column * cell, y + row * cell, Math.max(1, cell - 1), Math.max(1, cell - 1)];
      drawRect(context, wrong ? tones.fault : tones.chosen, box, wrong ? 1 : 0.3 + (0.6 * (order + 1)) / lit.length);
    }
  });
  if (pointed) outline(context, gridOf(pointed.name), [pointed.row, pointed.column, 1, 1], tones.chosen);
}

/// Draws all of them, and lights the first `number` of `lit`. Returns the grids.
function drawMatrices(canvas, run, { width, height }, { lit, number, pointed }) {
  const tones = colours();
  const arrays = run.launch.shared;
  const places = layOutMatrices(run.facts, arrays, width, height);
  const context = prepare(canvas, places.width, places.height);
  for (const place of places.grids) {
    const { name, shared, x, y, rows, columns, cell } = place;
    const [values, marks] = contentOf(place, run);
    const grid = { ...place, marks, colours: tones, base: baseOf(name, run, tones, marks), values };
    drawCells(context, grid);
    const written = (index) => (name === "C" ? run.values.writesC[index] > 0 : (marks[index] & MARK.written) !== 0);
    writeValues(context, { ...grid, shown: name === "A" || name === "B" ? () => true : written });
    context.font = "12px system-ui, sans-serif";
    const title = shared === undefined ? `${name}  ${rows}×${columns}` : `${name}, shared`;
    drawText(context, tones.muted, title, x, name === "C" ? y + rows * cell + 8 : y - 8, "left");
    const tile = run.look.tiles[name];
    if (tile) outline(context, grid, tile, tones.tile);
  }
  drawLit(context, places.grids, lit, number, pointed, tones);
  return places.grids;
}

function outline(context, { x, y, cell }, [row, column, rows, columns], colour) {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  // Around the cells, and not on them: a tile may be a single row or column.
  context.strokeRect(x + column * cell - 1, y + row * cell - 1, columns * cell + 1, rows * cell + 1);
}

/// The element at a point of the drawing.
function elementAt(grids, x, y) {
  for (const { name, shared, x: left, y: top, rows, columns, cell } of grids) {
    const [row, column] = [Math.floor((y - top) / cell), Math.floor((x - left) / cell)];
    if (row >= 0 && row < rows && column >= 0 && column < columns)
      return { name, shared, row, column, index: row * columns + column };
  }
  return null;
}

/// What there is to say of an element.
function describeElement(run, { name, shared, row, column, index }, meaning) {
  const { values } = run;
  if (shared !== undefined) {
    const [word, mark] = [shared + index, values.marksShared[shared + index]];
    const state = mark & MARK.written ? `= ${value(values.shared[word])}` : "has not been written";
    return `${meaning?.name ?? name}, bank ${word % BANKS}, ${state}${mark & MARK.copying ? "; a copy is on its way to it" : ""}`;
  }
  const title = `${name}[${row}][${column}]`;
  if (name !== "C") {
    const [all, reads] = name === "A" ? [values.a, values.readsA] : [values.b, values.readsB];
    return `${title} = ${value(all[index])}, read ${several(reads[index], "time")} so far`;
  }
  const should = `${run.facts.free ? "becomes" : "should become"} ${value(values.expected[index])}${run.facts.free ? " in this run" : ""}`;
  return values.writesC[index]
    ? `${title} = ${value(values.c[index])}, written ${several(values.writesC[index], "time")}; ${should}`
    : `${title} has not been written; ${should}`;
}

/// The block whose tile holds an element of C, if the grid is laid over C in the usual way.
function blockOf(run, { row, column }) {
  const [across, down, deep] = run.launch.grid;
  const [columns, rows] = run.facts.tile ?? [0, 0];
  const [y, x] = [Math.floor(row / rows), Math.floor(column / columns)];
  const usual = deep === 1 && across === Math.ceil(run.facts.n / columns) && down === Math.ceil(run.facts.m / rows);
  return usual ? y * across + x : null;
}

/// The panel.
export function makeMatrices(view) {
  const canvas = element("canvas", { role: "img", tabindex: "0", "aria-label": "Matrices A, B and C" });
  const hint = element("p", { class: "hint", role: "status" });
  const legend = element("p", { class: "legend" });
  legend.innerHTML = `<i class="chosen"></i>the chosen thread <i class="read"></i>read by its warp <i class="write"></i>written by it <i class="others"></i>other warps of the block
    <i class="copying"></i>a copy from here is on its way <i class="tile"></i>the block's tile <i class="done"></i>written <i class="wrong"></i>wrong. A and B darken with every read.`;
  const root = element(
    "section",
    { class: "panel matrices", "aria-label": "The matrices" },
    canvas,
    hint,
    element("details", {}, element("summary", { text: "The colours" }), legend),
  );
  let grids = [];
  let pointed = null;
  let meaning = null;
  let lit = [];
  let number = 0;
  let asked = 0;
  const paint = () => {
    grids = drawMatrices(canvas, view.run, view.room, { lit, number, pointed });
  };
  const say = () => {
    const more = meaning ? `: ${meaningWords(meaning)}` : "";
    setText(
      hint,
      pointed
        ? `${describeElement(view.run, pointed, meaning)}${more}`
        : "Point at an element, or tap on it, to see what it is. Click on C to look at the block that computes it.",
    );
  };
  /// Lights the pairs one after the other; all at once for those who want no motion, or if they were lit already.
  const light = (again) => {
    const still = again || matchMedia("(prefers-reduced-motion: reduce)").matches;
    number = still ? lit.length : Math.min(lit.length, number + Math.ceil(lit.length / 40));
    paint();
    const mine = asked;
    if (number < lit.length) setTimeout(() => mine === asked && light(false), 40);
  };
  /// Asks what the pointed element means now.
  const ask = async (again) => {
    const mine = (asked += 1);
    const found = pointed && (await meaningOf(view.run, pointed).catch(() => null));
    if (mine !== asked) return;
    meaning = found;
    lit = found ? litBy(found) : [];
    if (!again) number = 0;
    say();
    light(again);
  };
  const point = (at) => {
    if (at?.name === pointed?.name && at?.index === pointed?.index) return;
    [pointed, meaning, lit] = [at, null, []];
    say();
    ask(false);
  };
  whenPointed(canvas, (x, y) => point(elementAt(grids, x, y)));
  // A finger leaves as soon as it is lifted; what it pointed at stays until it points elsewhere.
  canvas.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && point(null));
  const chooseBlock = () => {
    const block = pointed?.name === "C" ? blockOf(view.run, pointed) : null;
    if (block !== null) view.choose({ block });
  };
  canvas.addEventListener("click", chooseBlock);
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") return chooseBlock();
    if (event.key === "Escape") return point(null);
    const way = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!way) return undefined;
    event.preventDefault();
    point(neighbour(grids, pointed, way));
  });
  return {
    root,
    grids: () => grids,
    draw() {
      paint();
      const { reads, writes } = touched(view.run);
      canvas.setAttribute(
        "aria-label",
        `Matrices A, B and C, and shared memory. The chosen warp reads ${count(reads.A)} elements of A and ${count(reads.B)} of B now, and writes ${count(writes)} of C. The arrow keys point at elements.`,
      );
      say();
      if (pointed) ask(true);
    },
  };
}

/// The element beside a pointed one; past an edge, the next grid begins. The first is C's.
function neighbour(grids, pointed, [down, right]) {
  if (!pointed) return { name: "C", row: 0, column: 0, index: 0 };
  const at = grids.findIndex(({ name }) => name === pointed.name);
  const grid = grids[at];
  const [row, column] = [pointed.row + down, pointed.column + right];
  if (row < 0 || row >= grid.rows || column < 0 || column >= grid.columns) {
    const { name, shared } = grids[(at + down + right + grids.length) % grids.length];
    return { name, shared, row: 0, column: 0, index: 0 };
  }
  return { ...pointed, row, column, index: row * grid.columns + column };
}

/// How many elements the chosen warp reads and writes now.
function touched({ values }) {
  const marked = (marks, bits) => marks.reduce((sum, mark) => sum + (mark & bits ? 1 : 0), 0);
  return { reads: { A: marked(values.marksA, 3), B: marked(values.marksB, 3) }, writes: marked(values.marksC, 12) };
}
