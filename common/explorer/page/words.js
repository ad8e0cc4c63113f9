// Numbers and small phrases, as every part of the page says them.

/// A number with commas between thousands.
export const count = (value) => Math.round(value).toLocaleString("en-US");

/// A count and its noun, in the plural when it is not one.
export const several = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/// A ratio with at most two digits after the point.
export const ratio = (value) => String(Math.round(value * 100) / 100);

/// A block or a thread of a grid of one, two or three dimensions.
export const place = ([x, y, z]) => (z ? `(${x},${y},${z})` : `(${x},${y})`);

/// What a thread does, with the place in it: "writes As[0]", "copies to As[0] asynchronously", "updates C[0] atomically".
export const actionOn = (action, place) => action.replace(/ it\b|(?= atomically)|$/, ` ${place}`);

/// The value of an element, short.
export function value(number) {
  if (Number.isNaN(number)) return "NaN";
  // A word that no usual fraction has holds a small whole number, such as a count.
  if (number !== 0 && Math.abs(number) < 2 ** -126) return String(Math.round(number * 2 ** 149));
  if (Number.isInteger(number)) return String(number);
  return Math.abs(number) >= 0.001 && Math.abs(number) < 10000
    ? String(Number(number.toPrecision(5)))
    : number.toExponential(3);
}

/// Numbers with neighbours drawn together: "0 to 31", "0, 8 and 16".
export function ranges(numbers) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const parts = [];
  for (let from = 0; from < sorted.length;) {
    let to = from;
    while (to + 1 < sorted.length && sorted[to + 1] === sorted[to] + 1) to += 1;
    parts.push(to - from > 1 ? `${sorted[from]} to ${sorted[to]}` : sorted.slice(from, to + 1).join(", "));
    from = to + 1;
  }
  return parts.join(", ");
}

/// A message of the engine as a sentence of the page.
export function sentenceOf(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
