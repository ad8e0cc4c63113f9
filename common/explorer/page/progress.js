// What a reader has predicted, kept in their browser. Where a browser keeps nothing, it is known until the page is
// closed.

const KEY = "explorer-predictions";
const held = {};

/// The numbers that the reader has committed to, by question.
export function predictions() {
  try {
    return { ...held, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { ...held };
  }
}

/// Keeps a prediction; `null` forgets it.
export function keepPrediction(question, number) {
  const all = predictions();
  all[question] = number;
  held[question] = number;
  if (number === null) {
    delete all[question];
    delete held[question];
  }
  try {
    localStorage.setItem(KEY, JSON.stringify(all));
  } catch {
    // A frame from disk, or a private window, may have no storage.
  }
}
