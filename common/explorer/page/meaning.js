// What the element is that the reader points at: where it comes from, or what has been added to it so far.

import { ranges, several } from "./words.js";

/// What the engine knows of a pointed element at the present time; null of one that only is what it is.
export async function meaningOf(run, { name, shared, row, column, index }) {
  if (shared !== undefined) return run.meaning({ shared: shared + index });
  return name === "C" ? run.meaning({ element: [row, column] }) : null;
}

/// A meaning as a sentence that goes on from the element's name and value.
export function meaningWords({ meaning, stored, read }) {
  return read === undefined ? sumWords(meaning) : cellWords(meaning, stored, read);
}

function sumWords({ kind, words, products, of, pairs = [], missing = [] }) {
  if (kind !== "sum" && kind !== "product") return `it is ${words}`;
  const wrong = pairs.filter((pair) => pair.wrong);
  const last = pairs.at(-1);
  return [
    of ? `${products} of ${of} products so far` : `it is ${words}`,
    last && !last.wrong ? `, the last one ${last.words}` : "",
    ...wrong.slice(-1).map((pair) => `; ${several(wrong.length, "wrong pair")}: ${pair.wrong}, line ${pair.line}`),
    missing.length > 0 ? `; missing: k = ${ranges(missing)}` : "",
  ].join("");
}

function cellWords({ words }, stored, read) {
  if (!stored) return words;
  const readers = ranges(read.map(({ warp }) => warp));
  const lines = ranges(read.map(({ line }) => line));
  const warps = new Set(read.map(({ warp }) => warp)).size;
  return [
    `it holds ${words}, which warp ${stored.warp} stored in line ${stored.line}`,
    warps === 0
      ? "nobody has read it since"
      : `${warps === 1 ? "warp" : "warps"} ${readers} ${warps === 1 ? "has" : "have"} read it, in line ${lines}`,
  ].join("; ");
}

/// The elements that light up for a meaning, in order: `{ name, row, column, wrong }`. The two of a pair light up together.
export function litBy({ meaning }) {
  if (meaning.kind === "element" && meaning.row !== undefined && meaning.row !== null)
    return [[{ name: meaning.array, row: meaning.row, column: meaning.column }]];
  return (meaning.pairs ?? []).map(({ a, b, wrong }) =>
    [
      ["A", a],
      ["B", b],
    ]
      .filter(([, at]) => at)
      .map(([name, [row, column]]) => ({ name, row, column, wrong })),
  );
}

/// The positions of a block of elements in an array of these extents.
function positions(extents, index, level = 0, before = 0) {
  if (level === extents.length) return [before];
  const [first, last] = index[level];
  const within = Array.from({ length: last - first + 1 }, (_, at) => before * extents[level] + first + at);
  return within.flatMap((at) => positions(extents, index, level + 1, at));
}

/// Adds what a line has read and written of a grid to its marks. `bits` are the marks for both.
export function withStep(marks, step, { name, extents }, bits) {
  const all = marks.slice();
  const light = (blocks, bit) => {
    for (const { array, index } of blocks)
      if (array === name) for (const at of positions(extents, index)) all[at] |= bit;
  };
  for (const { from, to } of step.parts) {
    light(from, bits.reads);
    light(to, bits.writes);
  }
  return all;
}
