// A hazard as a picture: both threads on the time axis, the cell between them with its old and its new value, where a barrier is
// missing, and the element of C that the value becomes part of.

import { drawing } from "./elements.js";
import { actionOn, place, value } from "./words.js";

const [HEIGHT, SIDE] = [250, 8];
/// Where the two threads and the cell lie.
const ROWS = { first: 64, cell: 108, second: 152 };

const shown = (held) => (typeof held.value === "number" ? value(held.value) : (held.value ?? "nothing"));
const named = (held) => (held.meaning && held.value !== null && !held.meaning.startsWith("the number") ? `${held.meaning} = ${shown(held)}` : (held.meaning ?? shown(held)));
const lacks = ({ what, where, line }) => `${what} is missing${line ? ` ${where} line ${line}` : ""}`;
const outcomeOf = (element, wrong) => `C[${element.join("][")}] ${wrong ? "is wrong in this run" : "is right by luck"}`;

/// What the picture shows, in words: for those who do not see it, and below it.
export function hazardWords({ cell, first, second, old, new: now, missing, element, wrong }) {
  const parts = [];
  if (first && second && cell) {
    const apart = first.number !== second.number;
    const who = ({ warp, block, action, line }) =>
      `warp ${warp}${apart ? ` of block ${place(block)}` : ""} ${actionOn(action, cell.name)}${line === null ? "" : ` in line ${line}`}`;
    parts.push(`First ${who(first)}, then ${who(second)}.`);
  }
  if (old && now) parts.push(`Before the write the cell holds ${named(old)}, after it ${named(now)}.`);
  if (missing) {
    const why = missing.what.startsWith("an atomic") ? "Each may write over what the other has added" : "Nothing keeps the two in order";
    parts.push(`${why}: ${lacks(missing)}.`);
  }
  if (element) {
    parts.push(`${outcomeOf(element, wrong)}.`);
  }
  return parts.join(" ");
}

/// A thread's line with its access as a dot. The words of the first stand on the left, those of the second on the right.
function thread({ warp, block, thread: at, action, line }, y, x, width, cell, apart) {
  const first = y < ROWS.cell;
  const kind = action.startsWith("read") ? "reads" : "writes";
  const side = first ? { x: SIDE, "text-anchor": "start" } : { x: width - SIDE, "text-anchor": "end" };
  const rows = first ? [y - 26, y - 11] : [y + 20, y + 36];
  return [
    drawing("line", { x1: SIDE, y1: y, x2: width - SIDE, y2: y, class: "track" }),
    drawing("line", { x1: x, y1: y, x2: x, y2: ROWS.cell + (first ? -14 : 14), class: kind }),
    drawing("circle", { cx: x, cy: y, r: 6, class: kind }),
    drawing("text", { ...side, y: rows[0], class: "who" }, `${apart ? `block ${place(block)}, ` : ""}warp ${warp}, thread ${place(at)}`),
    drawing("text", { ...side, y: rows[1] }, `${actionOn(action, cell)}${line === null ? "" : `, line ${line}`}`),
  ];
}

/// The picture, in `width` pixels.
export function drawHazard(picture, width) {
  const { cell, first, second, old, new: now, missing, element, wrong } = picture;
  if (!cell || !first || !second) return null;
  const [one, other] = [0.3 * width, 0.7 * width];
  const write = second.action.startsWith("read") ? one : other;
  const box = (x, wide, holds, kind) => [
    drawing("rect", { x, y: ROWS.cell - 14, width: wide, height: 28, class: kind }),
    drawing("text", { x: x + wide / 2, y: ROWS.cell + 4, "text-anchor": "middle" }, holds ? named(holds) : ""),
  ];
  const children = [
    ...box(SIDE, write - SIDE, old, "old"),
    ...box(write, width - SIDE - write, now, "new"),
    ...thread(first, ROWS.first, one, width, cell.name, first.number !== second.number),
    ...thread(second, ROWS.second, other, width, cell.name, first.number !== second.number),
    drawing("line", { x1: SIDE, y1: HEIGHT - 32, x2: width - SIDE, y2: HEIGHT - 32, class: "axis" }),
    drawing("text", { x: width - SIDE, y: HEIGHT - 18, "text-anchor": "end", class: "who" }, "time"),
  ];
  if (missing) {
    // Right before the access that it would have kept waiting; below the words of the first thread.
    const [x, top] = missing.keeps === "first" ? [one - 14, ROWS.first - 10] : [(one + other) / 2, 20];
    children.push(
      drawing("line", { x1: x, y1: top, x2: x, y2: HEIGHT - 32, class: "missing" }),
      drawing("text", { x: width / 2, y: 14, "text-anchor": "middle", class: "missing-name" }, lacks(missing)),
    );
  }
  if (element) {
    const text = outcomeOf(element, wrong);
    children.push(drawing("text", { x: SIDE, y: HEIGHT - 12, class: wrong ? "is-wrong" : "is-right" }, text));
  }
  return drawing(
    "svg",
    {
      viewBox: `0 0 ${width} ${HEIGHT}`,
      width,
      height: HEIGHT,
      role: "img",
      class: "hazard-picture",
      "aria-label": hazardWords(picture),
    },
    ...children,
  );
}
