// What four warps multiply together: which thread holds which element of the sums and of a, and where b lies in shared memory.

import { drawRect, drawText, element, prepare, setText, whenPointed } from "./elements.js";
import { cellSize } from "./grid.js";
import { colours } from "./theme.js";
import { ranges, value } from "./words.js";

const LANES = 32;
const ABOVE = 14;
const BESIDE = 44;
const ROW_HEIGHT = 14;
/// Pieces of shared memory: bytes of one, and pieces in a row of all banks.
const [PIECE, PIECES] = [16, 8];

/// The elements of a fragment: for each register the row, the column and the value of each lane.
const heldElements = (places, registers) =>
  registers.flatMap(({ register, values }, number) =>
    Array.from({ length: LANES }, (_, lane) => {
      const [row, column] = places[number][lane];
      return { row, column, lane, register, number, value: values?.[lane] ?? null };
    }),
  );

/// Draws cells with a label each. `cells` have row, column, colour, opacity and text. Gives the cell at a point.
function drawTable(canvas, { cells, rows = 16, columns, cell, head = String, rowName = String }) {
  const context = prepare(canvas, BESIDE + columns * cell + 2, ABOVE + rows * ROW_HEIGHT + 2);
  const tones = colours();
  const [middle, level] = [(column) => BESIDE + (column + 0.5) * cell, (row) => ABOVE + (row + 0.5) * ROW_HEIGHT];
  const every = cell >= 16 ? 1 : 8;
  for (let column = 0; column < columns; column += every) drawText(context, tones.muted, head(column), middle(column), 7);
  for (let row = 0; row < rows; row += 1) drawText(context, tones.muted, rowName(row), BESIDE - 4, level(row), "right");
  for (const { row, column, colour, opacity, text } of cells) {
    const box = [BESIDE + column * cell, ABOVE + row * ROW_HEIGHT, cell - 1, ROW_HEIGHT - 1];
    drawRect(context, tones[colour], box, opacity);
    if (cell >= 15) drawText(context, opacity > 0.8 ? tones.bg : tones.fg, text, middle(column), level(row));
  }
  const known = new Map(cells.map((one) => [one.row * columns + one.column, one]));
  return (x, y) => {
    const [row, column] = [Math.floor((y - ABOVE) / ROW_HEIGHT), Math.floor((x - BESIDE) / cell)];
    return column < 0 || column >= columns ? null : (known.get(row * columns + column) ?? null);
  };
}

/// A fragment as cells: those of the chosen lane stand out, and lanes beside each other differ.
const fragmentCells = (all, chosen) =>
  all.map((one) => ({
    ...one,
    colour: one.lane === chosen ? "chosen" : "read",
    opacity: one.lane === chosen ? 1 : one.lane % 2 ? 0.36 : 0.16,
    text: String(one.lane),
  }));

/// The operand b in shared memory: rows of 128 bytes, from the first that is read to the last.
function pieceCells({ pieces }, { by_column: byColumn, length }) {
  const number = (position) => Math.floor(position / PIECE);
  const first = Math.floor(Math.min(...pieces) / (PIECE * PIECES));
  return {
    first,
    rows: Math.floor(Math.max(...pieces) / (PIECE * PIECES)) - first + 1,
    cells: pieces.map((position, index) => {
      const [column, half] = [Math.floor(index / 2), index % 2];
      return {
        row: Math.floor(number(position) / PIECES) - first,
        column: number(position) % PIECES,
        position,
        colour: half ? "write" : "read",
        opacity: 0.5,
        text: byColumn ? String(column) : "",
        of: byColumn ? `column ${column}, k ${(half * length) / 2} to ${((half + 1) * length) / 2 - 1}` : "a part of b",
      };
    }),
  };
}

/// A heading, a drawing, and the line that tells of the cell under the pointer.
function makePart(label, told, chosen) {
  const canvas = element("canvas", { role: "img", "aria-label": label });
  const hint = element("p", { class: "hint" });
  const words = element("p", { class: "says" });
  let at = () => null;
  whenPointed(canvas, (x, y, { type }) => {
    const cell = at(x, y);
    hint.textContent = cell ? told(cell) : "";
    if (cell && type === "pointerdown") chosen(cell);
  });
  return {
    root: element("div", { class: "fragment" }, words, element("div", { class: "scroll" }, canvas), hint),
    draw(text, table) {
      setText(words, text);
      at = drawTable(canvas, table);
    },
  };
}

/// The panel.
export function makeFragments(view) {
  const none = element("p", { class: "muted" });
  const told = (name) => (one) =>
    `${name}[${one.row}][${one.column}] is in register ${one.register} (number ${one.number}) of lane ${one.lane}${typeof one.value === "number" ? `: ${value(one.value)}` : ""}`;
  const toLane = ({ lane }) => view.choose({ lane });
  const sums = makePart("Sums", told("sum"), toLane);
  const left = makePart("Operand a", told("a"), toLane);
  const right = makePart(
    "Operand b in shared memory",
    ({ position, of }) => {
      const values = Array.from(view.run.values.shared.slice(position / 4, position / 4 + 4), value).join(", ");
      return `b, ${of}: bytes ${position} to ${position + PIECE - 1} of shared memory, ${values}`;
    },
    () => {},
  );
  const parts = element("div", {}, sums.root, left.root, right.root);
  const root = element("section", { class: "panel fragments", "aria-label": "Fragments" }, none, parts);
  return {
    root,
    draw() {
      const { product } = view.run.look;
      const any = view.run.facts.launches.some(({ products }) => Object.keys(products).length > 0);
      none.hidden = Boolean(product);
      parts.hidden = !product;
      setText(
        none,
        any
          ? "The chosen warp has not multiplied on tensor cores yet. Step on to its first wgmma."
          : "This kernel does not multiply on tensor cores.",
      );
      if (!product) return;
      const shape = view.run.launch.products[product.instruction];
      const { lane, warp } = view.run.chosen;
      const width = view.room.width - BESIDE - 16;
      const held = heldElements(shape.sums, product.sums);
      const own = held.filter((one) => one.lane === lane);
      const list = (key) => ranges(own.map((one) => one[key]));
      sums.draw(
        `wgmma adds a (64×${shape.length}) · b (${shape.length}×${shape.columns}) to the sums. Warp ${warp} has 16 rows of them, and lane ${lane} the rows ${list("row")} in columns ${list("column")}:`,
        {
          cells: fragmentCells(held, lane),
          columns: shape.columns,
          cell: Math.max(6, cellSize(width, shape.columns, 26)),
        },
      );
      const factors = heldElements(shape.left, product.left);
      left.root.hidden = factors.length === 0;
      if (factors.length > 0) {
        left.draw("The same rows of a, in registers. The numbers are lanes:", {
          cells: fragmentCells(factors, lane),
          columns: shape.length,
          cell: 26,
        });
      }
      const { first, rows, cells } = pieceCells(product, shape);
      right.draw(
        "b in shared memory, in rows of 128 bytes: the places of 16 bytes that this wgmma reads, each with its column of b. The two colours are the first and the second half of a column:",
        {
          cells,
          rows,
          columns: PIECES,
          cell: Math.min(40, cellSize(width, PIECES, 40)),
          head: (place) => `place ${place}`.slice(width > 380 ? 0 : 6),
          rowName: (row) => (row % 8 ? "" : String((first + row) * PIECE * PIECES)),
        },
      );
    },
  };
}
