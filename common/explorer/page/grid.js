// A grid of cells on a canvas: how a cell shows what happens to its element.

import { drawRect, drawText } from "./elements.js";
import { MARK } from "./run.js";
import { value } from "./words.js";

/// The colour of a marked cell, and how strongly it covers what is below; null for a cell in which nothing happens.
function markColour(mark, colours) {
  if (mark & (MARK.laneReads | MARK.laneWrites)) return [colours.chosen, 1];
  if (mark & MARK.warpWrites) return [colours.write, 0.9];
  if (mark & MARK.warpReads) return [colours.read, 0.9];
  if (mark & MARK.copying) return [colours.write, 0.45];
  if (mark & MARK.sameBlock) return [colours.read, 0.33];
  if (mark & MARK.otherBlock) return [colours.muted, 0.35];
  return null;
}

/// The largest cell, in whole pixels of the screen, of which `count` fit into `room`.
export function cellSize(room, count, largest) {
  const scale = window.devicePixelRatio || 1;
  return Math.max(1, Math.min(largest, Math.floor((room / count) * scale) / scale));
}

/// Draws `rows` by `columns` cells with their upper left corner at (x, y). `base` gives colour and opacity of an
/// element without a mark. Neighbours in a row that look alike are drawn as one where there is no gap between them.
export function drawCells(context, { x, y, rows, columns, cell, marks, base, colours }) {
  const gap = cell >= 6 ? 1 : 0;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns;) {
      const index = row * columns + column;
      const below = base(index);
      const mark = marks[index] & ~MARK.written;
      let same = 1;
      while (
        gap === 0 &&
        column + same < columns &&
        (marks[index + same] & ~MARK.written) === mark &&
        alike(base(index + same), below)
      )
        same += 1;
      const box = [x + column * cell, y + row * cell, same * cell - gap, cell - gap];
      drawRect(context, below[0], box, below[1]);
      const marked = markColour(mark, colours);
      if (marked) drawRect(context, marked[0], box, marked[1]);
      column += same;
    }
  }
}

const alike = (one, other) => one[0] === other[0] && one[1] === other[1];

/// Sizes of the letters of values, the largest first.
const LETTERS = [11, 9, 8];

/// Writes the values into cells that are large enough for all of them: a grid in which some are left out would read as one with holes.
export function writeValues(context, { x, y, rows, columns, cell, values, shown, marks, colours }) {
  if (cell < 17) return;
  const indices = [...Array(rows * columns).keys()].filter(shown);
  // Two pixels stay free, or neighbours would run into each other.
  const texts = (size) => indices.map((index) => fitting(values[index], Math.floor((cell - 2) / (0.604 * size))));
  // Small letters rather than a rounded value: whoever adds up by hand needs -1.25, and not -1.3.
  const exact = (size) => texts(size).every((text, at) => Number(text) === values[indices[at]]);
  const size = LETTERS.find(exact) ?? LETTERS.find((size) => !texts(size).includes(null));
  if (size === undefined) return;
  context.font = `${size}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;
  texts(size).forEach((text, at) => {
    const index = indices[at];
    const marked = marks[index] & (MARK.laneReads | MARK.laneWrites | MARK.warpReads | MARK.warpWrites);
    const [row, column] = [Math.floor(index / columns), index % columns];
    drawText(context, marked ? colours.bg : colours.fg, text, x + column * cell + (cell - 1) / 2, y + (row + 0.5) * cell);
  });
}

/// A value in at most `room` characters; null if that would say nothing of it.
function fitting(number, room) {
  const whole = value(number);
  if (whole.length <= room) return whole;
  if (Number.isInteger(number) || !Number.isFinite(number)) return null;
  for (let digits = 3; digits >= 1; digits -= 1) {
    const text = number.toFixed(digits).replace(/^(-?)0\./, "$1.");
    if (text.length <= room) return text;
  }
  return null;
}
