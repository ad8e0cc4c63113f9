// A, B and C: B above C and A to its left, so that an element of C stands where its row of A and its column of B meet.

import { element, prepare } from "./elements.js";
import { cellSize, drawCells, writeValues } from "./grid.js";
import { colours } from "./theme.js";
import { count, several, value } from "./words.js";

const [LABEL, BETWEEN] = [16, 12];

/// Where the three matrices lie in `width` by at most `height` pixels.
function layOutMatrices({ m, n, k }, width, height) {
  const cell = cellSize(Math.min((width - BETWEEN - 2) / (k + n), (height - BETWEEN - 2 * LABEL) / (k + m)), 1, 34);
  const [left, top] = [k * cell + BETWEEN, LABEL + k * cell + BETWEEN];
  return {
    cell,
    width: left + n * cell + 2,
    height: top + m * cell + LABEL,
    A: { x: 0, y: top, rows: m, columns: k },
    B: { x: left, y: LABEL, rows: k, columns: n },
    C: { x: left, y: top, rows: m, columns: n },
  };
}

/// How the element looks when nobody touches it: the more often it has been read, the stronger.
function baseOf(name, run, tones) {
  const { values, facts } = run;
  if (name === "C") {
    const wrong = wrongElements(run);
    return (index) => {
      if (!values.writesC[index]) return [tones.raised, 1];
      return wrong(index) ? [tones.fault, 0.85] : [tones.tile, 0.45];
    };
  }
  const reads = name === "A" ? values.readsA : values.readsB;
  const scale = 0.34 / Math.log2(2 + Math.max(facts.m, facts.n));
  return (index) => [tones.fg, 0.08 + Math.min(0.34, Math.log2(1 + reads[index]) * scale)];
}

/// Tells which elements of C hold a wrong value. Rounding differs with the order of the additions, so a little is
/// allowed.
function wrongElements({ facts, values }) {
  if (facts.outcome.right) return () => false;
  const allowed = facts.dtype === "i32" ? 0 : 1e-5 * facts.k;
  return (index) =>
    !(Math.abs(values.c[index] - values.expected[index]) <= allowed * Math.max(1, Math.abs(values.expected[index])));
}

/// Draws all three. Returns which element lies at a point.
function drawMatrices(canvas, run, width, height) {
  const tones = colours();
  const places = layOutMatrices(run.facts, width, height);
  const context = prepare(canvas, places.width, places.height);
  const data = {
    A: [run.values.a, run.values.marksA],
    B: [run.values.b, run.values.marksB],
    C: [run.values.c, run.values.marksC],
  };
  for (const [name, [values, marks]] of Object.entries(data)) {
    const grid = { ...places[name], cell: places.cell, marks, colours: tones, base: baseOf(name, run, tones), values };
    drawCells(context, grid);
    writeValues(context, { ...grid, shown: (index) => name !== "C" || run.values.writesC[index] > 0 });
    context.fillStyle = tones.muted;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    const line = name === "C" ? grid.y + grid.rows * places.cell + 12 : grid.y - 4;
    context.fillText(`${name}  ${grid.rows}×${grid.columns}`, grid.x, line);
    const tile = run.look.tiles[name];
    if (tile) outline(context, grid, tile, tones.tile);
  }
  return (x, y) => elementAt(places, x, y);
}

function outline(context, { x, y, cell }, [row, column, rows, columns], colour) {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  // Around the cells, and not on them: a tile may be a single row or column.
  context.strokeRect(x + column * cell - 1, y + row * cell - 1, columns * cell + 1, rows * cell + 1);
}

function elementAt(places, x, y) {
  for (const name of ["A", "B", "C"]) {
    const { x: left, y: top, rows, columns } = places[name];
    const [row, column] = [Math.floor((y - top) / places.cell), Math.floor((x - left) / places.cell)];
    if (row >= 0 && row < rows && column >= 0 && column < columns)
      return { name, row, column, index: row * columns + column };
  }
  return null;
}

/// What there is to say of an element.
function describeElement(run, { name, row, column, index }) {
  const { values } = run;
  const title = `${name}[${row}][${column}]`;
  if (name !== "C") {
    const [all, reads] = name === "A" ? [values.a, values.readsA] : [values.b, values.readsB];
    return `${title} = ${value(all[index])}, read ${several(reads[index], "time")} so far`;
  }
  const should = `should become ${value(values.expected[index])}`;
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
  const canvas = element("canvas", { role: "img", "aria-label": "Matrices A, B and C" });
  const hint = element("p", { class: "hint", text: "" });
  const legend = element("p", { class: "legend" });
  legend.innerHTML = `<i class="chosen"></i>the chosen thread <i class="read"></i>read by its warp <i class="write"></i>written by it <i class="others"></i>other warps of the block
    <i class="copying"></i>a copy from here is on its way <i class="tile"></i>the block's tile <i class="done"></i>written <i class="wrong"></i>wrong. A and B darken with every read.`;
  const root = element("section", { class: "panel matrices", "aria-label": "The matrices" }, canvas, hint, legend);
  let at = () => null;
  let pointed = null;
  const say = () => {
    hint.textContent = pointed
      ? describeElement(view.run, pointed)
      : "Point at an element to see its value. Click on C to choose the block that computes it.";
  };
  for (const kind of ["pointermove", "pointerdown"]) {
    canvas.addEventListener(kind, (event) => {
      pointed = at(event.offsetX, event.offsetY);
      say();
    });
  }
  canvas.addEventListener("pointerleave", () => {
    pointed = null;
    say();
  });
  canvas.addEventListener("click", (event) => {
    const hit = at(event.offsetX, event.offsetY);
    const block = hit?.name === "C" ? blockOf(view.run, hit) : null;
    if (block !== null) view.choose({ block });
  });
  return {
    id: "matrices",
    title: "Matrices",
    root,
    draw() {
      const room = view.room();
      at = drawMatrices(canvas, view.run, room.width, room.height);
      const { reads, writes } = touched(view.run);
      canvas.setAttribute(
        "aria-label",
        `Matrices A, B and C. The chosen warp reads ${count(reads.A)} elements of A and ${count(reads.B)} of B now, and writes ${count(writes)} of C.`,
      );
      say();
    },
  };
}

/// How many elements the chosen warp reads and writes now.
function touched({ values }) {
  const marked = (marks, bits) => marks.reduce((sum, mark) => sum + (mark & bits ? 1 : 0), 0);
  return { reads: { A: marked(values.marksA, 3), B: marked(values.marksB, 3) }, writes: marked(values.marksC, 12) };
}
