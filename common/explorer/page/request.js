// The latest request of the chosen warp: which lanes ask for what, and what memory has to do for it.

import { element, fill, table } from "./elements.js";
import { drawRequest } from "./request-drawing.js";
import { requestSide } from "./request-layout.js";
import { accessPhrase } from "./sentence.js";
import { colours } from "./theme.js";
import { count, sentenceOf } from "./words.js";

/// The name of the first element in a line of 128 bytes of a matrix.
function lineName(run, array, line) {
  const columns = { A: run.facts.k, B: run.facts.n, C: run.facts.n }[array];
  if (!columns || line < 0) return `${array}: byte ${128 * line}`;
  const index = line * 32;
  return `${array}[${Math.floor(index / columns)}][${index % columns}]`;
}

/// Where each lane goes.
function addressTable(request) {
  const [where, unit] = request.space === "shared" ? ["bank", (address) => Math.floor(address / 4) % 32] : ["sector", (address) => Math.floor(address / 32)];
  const rows = request.addresses.map((address, lane) => {
    if (address === null) return null;
    const cells = [lane, request.elements[lane], count(address), unit(address), request.to && (request.to.elements[lane] ?? "")];
    return element("tr", {}, ...cells.filter((text) => text !== null).map((text) => element("td", { text })));
  });
  const heads = ["lane", "element", "byte", where, ...(request.to ? ["goes to"] : [])];
  return table({ class: "plain" }, heads, element("tbody", {}, ...rows.filter(Boolean)));
}

/// The panel.
export function makeRequest(view) {
  const says = element("p", { class: "says" });
  const drawings = element("div", { class: "drawings" });
  const note = element("p", { class: "muted" });
  const addresses = element("details", { class: "addresses" }, element("summary", { text: "Addresses of the lanes" }));
  const listed = element("div", { class: "scroll" });
  addresses.append(listed);
  addresses.addEventListener("toggle", () => draw());
  const root = element(
    "section",
    { class: "panel request", "aria-label": "The request" },
    says,
    drawings,
    note,
    addresses,
  );

  function drawing(side, heading) {
    const canvas = element("canvas", { role: "img", "aria-label": says.textContent });
    const laneAt = drawRequest(canvas, side, {
      width: view.room.width,
      colours: colours(),
      chosen: view.run.chosen.lane,
      label: (line) => lineName(view.run, side.array, line),
    });
    canvas.addEventListener("click", (event) => {
      const lane = laneAt(event.offsetX, event.offsetY);
      if (lane !== null) view.choose({ lane });
    });
    return [heading ? element("h3", { text: heading }) : null, canvas];
  }

  function draw() {
    const { request } = view.run.look;
    drawings.hidden = addresses.hidden = !request;
    if (!request) {
      says.textContent = "The chosen warp has not asked for anything in memory yet.";
      note.textContent = "";
      return;
    }
    const line = request.line === null ? "" : `, line ${request.line}`;
    says.textContent = `${request.now ? "Now" : "Its latest request"}${line}: the warp ${accessPhrase(request)}.`;
    note.textContent = request.note ? sentenceOf(request.note) : hintFor(request);
    if (request.space === "local") return fill(drawings);
    const reads = request.addresses.some((address) => address !== null);
    fill(
      drawings,
      ...(reads ? drawing(requestSide(request, request), request.to ? "Reads from global memory" : null) : []),
      ...(request.to ? drawing(requestSide(request, request.to), "Writes to shared memory") : []),
    );
    fill(listed, ...(addresses.open ? [addressTable(request)] : []));
  }
  return { root, draw };
}

/// What the colours of the drawing mean for this request.
function hintFor(request) {
  if (request.space === "shared")
    return "A pass delivers one word from each bank. Different words of one bank need a pass each.";
  if (request.space === "global") return "Strong: the words asked for. Pale: what a sector of 32 bytes brings along.";
  return "";
}
