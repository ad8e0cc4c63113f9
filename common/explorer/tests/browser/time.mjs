// Each chapter's explorer: it loads, runs, and stepping back leads through the same states as stepping forward.

const UNITS = [
  ["instruction", 6],
  ["line", 5],
  ["step", 5],
  ["barrier", 2],
];

/// Steps forward and back by one unit, and compares what is seen at the same times.
async function thereAndBack(opened, unit, steps, check) {
  await opened.step(1, unit);
  const seen = new Map([[await opened.time(), await opened.state()]]);
  const begun = await opened.time();
  let taken = 0;
  for (; taken < steps; taken += 1) {
    const last = await opened.time();
    if (!(await opened.step(1, unit))) {
      await opened.jump(last); // past the last step lies the end, which is no step away
      break;
    }
    seen.set(await opened.time(), await opened.state());
  }
  const farthest = await opened.time();
  check(taken === 0 || farthest > begun, `${unit}: time did not go on from ${begun}`);
  for (let back = 0; back < taken; back += 1) {
    await opened.step(-1, unit);
    const state = seen.get(await opened.time());
    check(
      state === undefined || state === (await opened.state()),
      `${unit}: at ${await opened.time()}, it looks different on the way back`,
    );
  }
  check(
    (await opened.time()) === begun,
    `${unit}: ${taken} steps forward and back end at ${await opened.time()} in place of ${begun}`,
  );
  return taken;
}

/// Checks a chapter's first kernel. Returns the length of its run.
export async function checkChapter(opened, chapter, check) {
  const facts = await opened.follow(`#${chapter.id}`);
  check(facts !== null && facts.length > 0, `${chapter.id} does not run: ${await opened.message()}`);
  if (!facts) return 0;
  check(facts.outcome.right, `${chapter.id}: ${JSON.stringify(facts.outcome)}`);
  await opened.jump(0);
  const atStart = await opened.state();
  await opened.jump(Math.floor(facts.length / 3));
  for (const [unit, steps] of UNITS) await thereAndBack(opened, unit, steps, check);
  await opened.jump();
  check((await opened.time()) === facts.length, `${chapter.id}: the end is at ${await opened.time()}`);
  const written = await opened.do(() => window.explorer.runs[0].values.writesC.every((times) => times > 0));
  check(written, `${chapter.id}: not every element of C is written at the end`);
  await opened.jump(0);
  check((await opened.state()) === atStart, `${chapter.id}: the start looks different after the end`);
  return facts.length;
}

/// How long it takes to go to other times and to draw what is there, in milliseconds.
export async function scrubbing(opened, fragment) {
  await opened.follow(fragment);
  const took = await opened.do(async () => {
    const { travel, runs } = window.explorer;
    const took = [];
    for (let share = 0; share < 60; share += 1) {
      const begun = performance.now();
      await travel.jump(Math.floor((runs[0].facts.length * share) / 60));
      await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
      took.push(performance.now() - begun);
    }
    return took.sort((a, b) => a - b);
  });
  const bytes = await opened.do(() => window.explorer.runs[0].facts.bytes);
  return { median: took[30], worst: took[59], bytes };
}

/// Every kernel, at a size that fits none of its tiles: at many times, in every panel, the page says nothing that is
/// no word.
export async function checkEverywhere(opened, check) {
  await opened.page.setViewportSize({ width: 720, height: 760 });
  const kernels = await opened.do(() => {
    const { data, runner } = window.explorer;
    const odd = (name) => runner.formsFor({ name, dtype: "f32", size: [33, 47, 20] });
    return Promise.all(data.kernels.map(async ({ id }) => ({ id, some: (await odd(id)).length > 0 })));
  });
  for (const { id, some } of kernels) {
    const size = id.startsWith("step01")
      ? "9x7x5"
      : id.startsWith("step03")
        ? "17x31x20"
        : some
          ? "33x47x20"
          : "32x64x32";
    const facts = await opened.follow(`#${id}?size=${size}&order=blocks`);
    check(facts !== null, `${id} does not run at ${size}: ${await opened.message()}`);
    if (!facts) continue;
    const odd = await opened.do(async () => {
      const { travel, runs } = window.explorer;
      const found = new Set();
      for (let share = 0; share <= 30; share += 1) {
        travel.following = share % 2 === 0;
        await travel.jump(Math.round((runs[0].facts.length * share) / 30));
        for (const panel of window.explorer.views[0].panels) {
          panel.draw();
          for (const text of panel.root.innerText.split("\n"))
            if (/undefined|\[object|null/.test(text)) found.add(text);
        }
        if (/undefined|\[object|null/.test(document.getElementById("sentence").textContent))
          found.add(document.getElementById("sentence").textContent);
      }
      travel.following = false;
      return [...found];
    });
    check(odd.length === 0, `${id} at ${size} says: ${odd.slice(0, 3).join(" | ")}`);
  }
  return `${kernels.length} kernels at 31 times each`;
}
