// What the page says of values: where the words of shared memory come from, what has been added to the elements of C, and what a
// line did. What is said of a value is computed again from A and B; what lights up is compared with what is said.

/// Kernels whose values are followed, and what their first line says.
const FOLLOWED = [
  ["step02_gpu_naive", /^Line \d+: warp 0 loads A\[0\]\[0\.\.3\] and B\[0\.\.3\]\[0\.\.31\]/],
  ["step03_single_block", /^Line \d+: warp 0 loads A\[0\.\.1\]\[0\.\.15\] into shared\[0\.\.31\]/],
  ["step04_tiled", /^Line \d+: warp 0 loads A\[0\.\.3\]\[0\.\.7\] into As\[0\.\.3\]\[0\.\.7\]/],
  ["step05_thread_tile", /^Line \d+: warp 0 loads A\[0\.\.15\]\[0\.\.7\] into As\[0\.\.7\]\[0\.\.15\]/],
  ["step06_prefetch", /^Line \d+: warp 0 starts to copy A\[0\.\.15\]\[0\.\.31\] to As\[0\]/],
];

/// At several times: each word of shared memory holds the element that is said, and each sum of the chosen lane is what the
/// pairs give that are said to be in it. Returns how many of both were compared, and what is different.
const compareValues = (opened) =>
  opened.do(async () => {
    const { travel, runs } = window.explorer;
    const [run] = runs;
    const { n, k } = run.facts;
    const wrong = [];
    let [words, sums] = [0, 0];
    for (const share of [0.3, 0.5, 0.8, 1]) {
      await travel.jump(Math.round(run.facts.length * share));
      const { values, look } = run;
      const { registers } = await run.meaning("registers");
      for (let word = 0; word < values.shared.length; word += 5) {
        const { meaning, name } = await run.meaning({ shared: word });
        if (meaning.kind !== "element") continue;
        const { array, row, column } = meaning;
        const held = array === "A" ? values.a[row * k + column] : values.b[row * n + column];
        words += 1;
        if (held !== values.shared[word]) wrong.push(`${name} holds ${values.shared[word]} and is said to be ${meaning.words}, ${held}`);
      }
      const held = look.registers.filter(({ name }) => registers[name]?.element);
      for (const { name, value } of held.slice(0, 6)) {
        const { element: [row, column], pairs } = registers[name];
        const sum = pairs.reduce((all, { a, b }) => all + values.a[a[0] * k + a[1]] * values.b[b[0] * n + b[1]], 0);
        sums += 1;
        if (Math.abs(sum - value) > 1e-5) wrong.push(`C[${row}][${column}] is ${value}, and ${pairs.length} pairs give ${sum}`);
        if (pairs.some(({ a, b }) => a[0] !== row || b[1] !== column || a[1] !== b[0]))
          wrong.push(`C[${row}][${column}] has ${pairs.map(({ words }) => words)}`);
      }
    }
    return { words, sums, wrong };
  });

/// The colours of elements in the drawing of the matrices: `[name, row, column]` each.
const coloursOf = (opened, places) =>
  opened.do((places) => {
    const canvas = document.querySelector(".matrices canvas");
    const grids = window.explorer.views[0].panels[0].grids();
    const scale = canvas.width / canvas.clientWidth;
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    return places.map(([name, row, column]) => {
      const { x, y, cell } = grids.find((grid) => grid.name === name);
      const at = [x + (column + 0.2) * cell, y + (row + 0.2) * cell].map((side) => Math.round(side * scale));
      return [...context.getImageData(...at, 1, 1).data].join();
    });
  }, places);

/// Points at an element with the mouse, and returns what is said of it.
async function pointAt(opened, name, row, column) {
  const at = await opened.do(
    ([name, row, column]) => {
      const { x, y, cell } = window.explorer.views[0].panels[0].grids().find((grid) => grid.name === name);
      const { left, top } = document.querySelector(".matrices canvas").getBoundingClientRect();
      return [left + x + (column + 0.5) * cell, top + y + (row + 0.5) * cell];
    },
    [name, row, column],
  );
  await opened.page.mouse.move(...at);
  await opened.page.waitForFunction((name) => document.querySelector(".matrices .hint").textContent.startsWith(`${name}`) && /: (\d+ of|it holds|it is)/.test(document.querySelector(".matrices .hint").textContent), name);
  // The pairs light up one after the other.
  await opened.page.waitForTimeout(1200);
  return opened.page.locator(".matrices .hint").textContent();
}

/// Everything that is said of values.
export async function checkMeaning(opened, check) {
  const compared = [];
  for (const [id, first] of FOLLOWED) {
    await opened.follow(`#${id}`);
    await opened.drawn();
    const said = await opened.page.locator("#sentence").textContent();
    check(first.test(said), `${id}: the first line says: ${said}`);
    const { words, sums, wrong } = await compareValues(opened);
    check(wrong.length === 0, `${id}: ${wrong.slice(0, 3).join("; ")}`);
    check(sums > 0 && (words > 0 || id === "step02_gpu_naive"), `${id}: ${words} words and ${sums} sums were followed`);
    compared.push(`${words} words and ${sums} sums`);
  }
  // After the first pair of tiles, half of the products are there: the elements behind them light up, and no others.
  await opened.follow("#step04_tiled");
  for (let step = 0; step < 3; step += 1) await opened.step(1, "step");
  await opened.drawn();
  const places = [["A", 3, 7], ["A", 3, 8], ["A", 4, 7], ["B", 7, 4], ["B", 8, 4]];
  const before = await coloursOf(opened, places);
  const said = await pointAt(opened, "C", 3, 4);
  check(/8 of 16 products so far, the last one A\[3\]\[7\] · B\[7\]\[4\]/.test(said), `of C[3][4] it says: ${said}`);
  const changed = (await coloursOf(opened, places)).map((colour, place) => colour !== before[place]);
  check(changed.join() === "true,false,false,true,false", `elements that light up: ${changed}`);
  const cell = await pointAt(opened, "As", 2, 5);
  check(/it holds A\[2\]\[5\], which warp 0 stored in line 26; warp 0 has read it, in line 34/.test(cell), `of As[2][5] it says: ${cell}`);
  // A race: what is multiplied with a wrong partner is red.
  await opened.follow("#step04_tiled/no_second_barrier?panel=matrices");
  await opened.jump();
  await opened.drawn();
  const race = await pointAt(opened, "C", 5, 4);
  check(/wrong pairs: B\[\d+\]\[4\] has another k than A\[5\]\[\d+\], line 33/.test(race), `of C[5][4] after a race it says: ${race}`);
  const red = await opened.do(() => getComputedStyle(document.documentElement).getPropertyValue("--fault").trim());
  const hex = `#${(await coloursOf(opened, [["A", 5, 0]]))[0].split(",").slice(0, 3).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
  check(hex === red, `a wrong pair is drawn in ${hex} and not in ${red}`);
  // Registers, by what they mean.
  await opened.follow("#step04_tiled?panel=registers");
  await opened.jump(140);
  await opened.page.waitForFunction(() => /of 16 products of C|A\[\d+\]\[\d+\]/.test(document.querySelector(".registers")?.textContent));
  const registers = await opened.page.locator(".registers").textContent();
  check(/an address: /.test(registers) && !/undefined|null/.test(registers), `the registers are: ${registers}`);
  return compared.join(", ");
}
