// Every kernel at three sizes in the browser, against the same runs made by native code.

/// The fragment that asks for a run.
export function fragmentOf({ kernel, form, m, n, k, dtype, order }) {
  const options = new URLSearchParams({ size: `${m}x${n}x${k}`, panel: "counts", dtype, order: order ?? "warps" });
  if (form) options.set("form", form);
  return `#${kernel}?${options}`;
}

/// A hazard in one line, so that two lists of them can be compared.
const hazardLine = ({ kind, place, count, parties }) =>
  [
    kind,
    place,
    count,
    ...parties.map(({ block, thread, action, line }) => `${block} ${thread} ${action} ${line}`),
  ].join(" | ");

/// Counters without those that are zero.
const counted = (totals) =>
  JSON.stringify(
    Object.entries(totals)
      .filter(([, value]) => value !== 0)
      .sort(),
  );

const byLine = (lines) =>
  Object.keys(lines)
    .sort()
    .map((line) => `${line} ${counted(lines[line])}`)
    .join("; ");

/// Checks one run.
async function checkRun(opened, run, check) {
  const name = `${run.kernel} ${run.form ?? ""} at ${run.m}×${run.n}×${run.k}`;
  const facts = await opened.follow(fragmentOf(run));
  if (!facts)
    return check(run.stopped !== null && run.totals === undefined, `${name}: the page says: ${await opened.message()}`);
  const form = await opened.do(() => window.explorer.runs[0].form.id);
  check(!run.form || form === run.form, `${name}: runs with ${form} in place of ${run.form}`);
  await opened.jump();
  await opened.drawn();
  const end = await opened.do(() => window.explorer.runs[0].look.totals);
  const shown = await opened.do(() =>
    Object.fromEntries(
      [...document.querySelectorAll(".totals tbody th[scope=row]")].map((head) => [
        head.textContent,
        // So far, which is everything at the end, and in the whole run.
        [...head.parentElement.querySelectorAll("td.number")]
          .map((cell) => cell.textContent.replaceAll(",", ""))
          .join(),
      ]),
    ),
  );
  check(
    facts.outcome.right === run.right,
    `${name}: the product is ${facts.outcome.right ? "right" : "not right"} here`,
  );
  check(
    facts.outcome.stopped === run.stopped,
    `${name}: ${facts.outcome.stopped ?? "not stopped"}, natively ${run.stopped ?? "not stopped"}`,
  );
  // Where a run breaks off, the counters count to the end of a stretch of instructions, and a page to the instruction
  // itself.
  if (run.stopped !== null) return undefined;
  check(
    counted(facts.totals) === counted(run.totals),
    `${name}: totals ${counted(facts.totals)}, natively ${counted(run.totals)}`,
  );
  const lines = await opened.do(() => window.explorer.runs[0].look.by_line);
  check(byLine(lines) === byLine(run.lines), `${name}: by line ${byLine(lines)}, natively ${byLine(run.lines)}`);
  check(counted(end) === counted(run.totals), `${name}: at the end ${counted(end)}, natively ${counted(run.totals)}`);
  const different = Object.entries(run.totals)
    .filter(([counter, value]) => value !== 0 && shown[counter] !== `${value},${value}`)
    .map(([counter]) => counter);
  check(different.length === 0, `${name}: the table shows another number of ${different.join(", ")}`);
  const [here, there] = [facts.hazards, run.hazards].map((hazards) => hazards.map(hazardLine).sort());
  check(
    JSON.stringify(here) === JSON.stringify(there),
    `${name}: hazards ${here.join("; ") || "none"}, natively ${there.join("; ") || "none"}`,
  );
  return undefined;
}

/// Checks all runs, and that none of the page's kernels is left out.
export async function checkNative(opened, native, check) {
  const sizes = new Map();
  await opened.page.setViewportSize({ width: 720, height: 760 });
  for (const run of native.runs) {
    await checkRun(opened, run, check);
    sizes.set(run.kernel, (sizes.get(run.kernel) ?? new Set()).add(`${run.m} ${run.n} ${run.k}`));
  }
  const kernels = native.kernels ?? (await opened.do(() => window.explorer.data.kernels.map(({ id }) => id)));
  for (const kernel of kernels)
    check(
      (sizes.get(kernel)?.size ?? 0) >= 3,
      `${kernel} was run natively at ${sizes.get(kernel)?.size ?? 0} sizes in place of three`,
    );
  check(opened.complaints.length === 0, opened.complaints.join("; "));
  return `${native.runs.length} runs of ${kernels.length} kernels`;
}
