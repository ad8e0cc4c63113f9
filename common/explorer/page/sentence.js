// What happens at a time, as a sentence.

import { count, place, sentenceOf, several, value } from "./words.js";

const VERBS = { load: "loads", store: "stores", atomic: "updates", copy: "starts to copy" };

/// The elements that an access touches, from the first lane's to the last one's.
function elementsOf(names) {
  const distinct = [...new Set(names.filter((name) => name !== null))];
  if (distinct.length === 1) return `${distinct[0]}`;
  return distinct.length === 2 ? `${distinct[0]} and ${distinct[1]}` : `${distinct[0]} to ${distinct.at(-1)}`;
}

/// Bytes that the lanes of a request ask for, each counted once.
export function bytesAsked({ addresses, bytes }) {
  return new Set(addresses.filter((address) => address !== null)).size * bytes;
}

/// What the memory has to do for a request.
export function costOf(request) {
  const sides = [];
  if (request.space === "global") {
    const sectors = request.sectors.length;
    sides.push(
      `${several(sectors, "sector")}, ${count(32 * sectors)} bytes for the ${count(bytesAsked(request))} asked for`,
    );
  }
  const shared = request.space === "shared" ? request : request.to;
  if (shared && shared.wavefronts.length > 0) {
    const extra = shared.wavefronts.length - shared.fewest;
    sides.push(
      `${several(shared.wavefronts.length, "wavefront")}${extra > 0 ? `, ${count(extra)} of them because of bank conflicts` : ""}`,
    );
  }
  return sides.join("; ");
}

/// An access as a phrase: "loads Bs[0][0] to Bs[0][31] from shared memory (1 wavefront)".
export function accessPhrase(request) {
  const [lanes, written] = [request, request.to].map((side) =>
    side ? side.addresses.filter((address) => address !== null).length : 0,
  );
  if (lanes === 0 && request.to)
    return `starts to write zeros to ${elementsOf(request.to.elements)}, ${several(written, "lane")}: ${costOf({ ...request, space: "shared", ...request.to })}`;
  const from = { global: "global memory", shared: "shared memory", local: "local memory" }[request.space];
  const direction = request.kind === "store" ? "to" : request.kind === "atomic" ? "in" : "from";
  const target = request.to ? ` to ${elementsOf(request.to.elements)}` : "";
  const cost = costOf(request);
  return `${VERBS[request.kind]} ${elementsOf(request.elements)} ${direction} ${from}${target}, ${several(lanes, "lane")}${cost ? `: ${cost}` : ""}`;
}

/// How the run ended, once it has.
export function outcomeSentence({ outcome, hazards, free }) {
  if (outcome.stopped) return sentenceOf(outcome.stopped);
  const errors = hazards.filter(({ warning }) => !warning).length;
  const found = errors > 0 ? ` ${several(errors, "hazard")} ${errors === 1 ? "was" : "were"} found.` : "";
  if (free) return `The kernel has come to its end.${found}`;
  if (outcome.right) return `The product is right.${found}`;
  if (!outcome.first) return `The product is wrong.${found}`;
  const { row, column, value: is, expected } = outcome.first;
  const number = (one) => (typeof one === "number" ? value(one) : one);
  return `The product is wrong in ${several(outcome.wrong, "element")}; C[${row}][${column}] is ${number(is)} and should be ${number(expected)}.${found}`;
}

/// That there is no further step of some length.
export function nothingLeft({ chosen, look, facts, time }, unit) {
  if (unit === "hazard") return "There is no further hazard.";
  const ended = look.warps[chosen.warp]?.state === "done";
  if (ended && time < facts.length) return `Warp ${chosen.warp} has ended, and others still run: choose one of them, or go to the end.`;
  return ended
    ? `Warp ${chosen.warp} has ended. ${outcomeSentence(facts)}`
    : `There is no further ${unit === "step" ? "line" : unit} of warp ${chosen.warp}.`;
}

/// What the chosen warp has done in its line, or in all of it that it has executed so far.
export function happening(run) {
  const { chosen, look, facts } = run;
  const { step } = look;
  const hazards = facts.hazards
    .filter(({ time }) => time === run.time)
    .map(({ kind, place: where }) => ` Here is a hazard: ${kind}, ${where}.`)
    .join("");
  const end = run.time === facts.length ? ` ${outcomeSentence(facts)}` : "";
  if (step.words === null) {
    const last = outcomeSentence(facts);
    const told = facts.outcome.right && facts.hazards.length === 0 ? "" : ` At the end: ${last}`;
    return `Warp ${chosen.warp} of block ${place(run.blockName())} has executed nothing yet. Press play, or step.${told}`;
  }
  const said = step.line === null ? sentenceOf(step.words) : `Line ${step.line}: ${step.words}.`;
  const where = look.blocks.length > 1 ? ` Block ${place(run.blockName())}.` : "";
  return `${said}${where}${hazards}${end}`;
}
