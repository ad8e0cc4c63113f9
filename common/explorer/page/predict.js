// The tour of a chapter: each stop says what to look at, and asks about what is on the screen. The reader commits to a number, and
// the page says what was counted and where to look.

import { button, element, fill, withCode } from "./elements.js";
import { keepPrediction, predictions } from "./progress.js";
import { count, ratio } from "./words.js";

const numeral = (value) => (Number.isInteger(value) ? count(value) : ratio(value));

/// Whether a prediction says what was counted, as exactly as the question asks.
export function agrees(predicted, counted, digits = 0) {
  return Math.abs(predicted - counted) <= 0.5 * 10 ** -digits + 1e-9 * Math.abs(counted);
}

/// The number that a reader has typed; null if it is none. A comma between thousands, and a percent sign, are allowed.
export function numberOf(text) {
  const bare = text
    .trim()
    .replace(/(\d),(?=\d{3})/g, "$1")
    .replace(",", ".");
  return bare !== "" && Number.isFinite(Number(bare)) ? Number(bare) : null;
}

/// The tour.
export function makePredict(root, page) {
  let stops = [];
  let chapter = "";
  let at = 0;
  const key = (index) => `${chapter}/${stops[index].id ?? index}`;

  /// Keeps a number, and says what was counted; null asks again.
  function commit(number) {
    keepPrediction(key(at), number);
    return draw();
  }

  function form() {
    const attributes = { type: "text", inputmode: "decimal", autocomplete: "off", size: 9 };
    const field = element("input", { ...attributes, "aria-label": "Your prediction" });
    const hint = element("span", { class: "fault", role: "alert" });
    const onsubmit = (event) => {
      event.preventDefault();
      const number = numberOf(field.value);
      if (number === null) hint.textContent = "Type a number.";
      else commit(number);
    };
    const submit = element("button", { type: "submit", class: "main", text: "Commit" });
    return element("form", { class: "prediction", onsubmit }, field, submit, hint);
  }

  function verdict({ metric, per, digits, after }, predicted, found) {
    if (found.value === null) return element("p", { text: "This run has nothing to count for the question." });
    const right = agrees(predicted, found.value, digits ?? 0);
    const counted = (number, name) => `${count(number)} ${name.replaceAll("_", " ")}`;
    const parts = per ? ` (${counted(found.of, metric)} / ${counted(found.per, per)})` : "";
    return element(
      "p",
      { class: right ? "right" : "not", tabindex: -1 },
      element("strong", { text: right ? "Right. " : "Not quite. " }),
      `You said ${numeral(predicted)}. Counted: `,
      element("strong", { text: numeral(found.value) }),
      `${parts}. `,
      ...withCode(after ?? ""),
    );
  }

  async function draw() {
    const stop = stops[at];
    if (!stop) return fill(root, element("p", { class: "muted", text: "This chapter has no tour." }));
    const known = predictions();
    const predicted = known[key(at)];
    const dots = stops.map((_, index) =>
      button(index + 1, () => go(index), {
        class: "dot",
        "aria-pressed": String(index === at),
        "aria-label": `Stop ${index + 1}${known[key(index)] === undefined ? "" : ", answered"}`,
        "data-done": known[key(index)] === undefined ? null : "",
      }),
    );
    const body = element("div", { class: "stop-body" });
    // What had the focus is replaced: the question has it then, or what was counted, so that both are read and the next key goes on there.
    const had = root.contains(document.activeElement);
    fill(
      root,
      element(
        "div",
        { class: "stop" },
        element("span", { class: "dots" }, ...dots),
        element(
          "p",
          { tabindex: -1 },
          ...withCode(stop.look ? `${stop.look} ` : ""),
          element("strong", {}, ...withCode(stop.words)),
        ),
      ),
      body,
    );
    if (had) root.querySelector("p").focus();
    if (predicted === undefined) return fill(body, form());
    const asked = at;
    try {
      if (page.runs.length === 0) throw new Error("The run failed, so there is nothing to count.");
      const found = await page.runs[0].count(stop);
      if (asked !== at || stops[at] !== stop) return;
      fill(
        body,
        verdict(stop, predicted, found),
        element(
          "p",
          { class: "next" },
          found.time === null ? null : button("Show me where", () => page.lookWhere(stop, found)),
          at + 1 < stops.length ? button("Next stop", () => go(at + 1), { class: "main" }) : null,
          button("Predict again", () => commit(null)),
        ),
      );
      if (had) body.querySelector("p").focus();
    } catch (error) {
      fill(body, element("p", { class: "fault", text: error.message }));
    }
  }

  async function go(index) {
    at = Math.max(0, Math.min(stops.length - 1, index));
    const stop = stops[at];
    try {
      if (stop) await page.visit(stop);
    } catch {
      // The page says why the kernel does not run, and the answer of the question will.
    }
    if (stops[at] === stop) await draw();
  }

  return {
    /// Asks the stops of a chapter, beginning with number `from`, or with the first that has no prediction yet.
    show(name, asked, from) {
      if (name === chapter && from === undefined) return undefined;
      chapter = name;
      stops = asked;
      const known = predictions();
      const open = stops.findIndex((_, index) => known[key(index)] === undefined);
      return go(from ?? Math.max(0, open));
    },
  };
}
