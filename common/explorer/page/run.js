// A run of a kernel, and the time and the thread at which it is looked at.

/// The engine's bulk arrays, by number.
const BULK = "a b c expected readsA readsB writesC marksA marksB marksC shared marksShared".split(" ");
/// Those that hold elements of matrices, and those of them that stay as they are.
const [HOLDING, CONSTANT] = [["a", "b", "c", "expected", "shared"], ["a", "b", "expected"]];
const [ONCE, EACH_TIME] = [true, false].map((once) =>
  [...BULK.keys()].filter((which) => CONSTANT.includes(BULK[which]) === once),
);

/// The bits of the marks.
export const MARK = {
  laneReads: 1,
  warpReads: 2,
  laneWrites: 4,
  warpWrites: 8,
  sameBlock: 16,
  otherBlock: 32,
  copying: 64,
  written: 128,
};

export class Run {
  constructor(engine, kernel, form) {
    this.engine = engine;
    this.kernel = kernel;
    this.form = form;
    this.chosen = { block: 0, warp: 0, lane: 0 };
    this.time = 0;
    this.values = {};
  }

  /// Runs the kernel from its beginning to its end, and looks at the beginning.
  async start({ size: [m, n, k], order, fill }) {
    const { ptx, planner, dtype } = this.form;
    const { source, file } = this.kernel;
    const kernel = { ptx, source, file, planner };
    const request = { do: "run", kernel, m, n, k, dtype, order, fill: fill ?? undefined };
    const { answer, copies } = await this.engine.ask(request, ONCE);
    this.facts = answer;
    /// C may become anything.
    this.facts.free = planner.launch?.output === "any";
    this.take(copies);
    await this.lookAt(0);
  }

  /// Takes arrays over from the engine, as the numbers that they hold.
  take(copies) {
    const Values = this.form.dtype === "i32" ? Int32Array : Float32Array;
    for (const [which, words] of Object.entries(copies))
      this.values[BULK[which]] = new (HOLDING.includes(BULK[which]) ? Values : Uint32Array)(words);
  }

  /// Everything there is to see at a time.
  async lookAt(time, chosen = this.chosen) {
    const { answer, copies } = await this.engine.ask({ do: "look", time, ...chosen }, EACH_TIME);
    this.take(copies);
    this.look = answer;
    this.time = answer.time;
    this.chosen = { block: answer.block, warp: answer.warp, lane: answer.lane };
  }

  /// The answer to a question without arrays.
  async ask(request) {
    return (await this.engine.ask(request)).answer;
  }

  /// What values mean at the present time: `of` says which, as the engine takes it.
  meaning(of) {
    return this.ask({ do: "meaning", time: this.time, ...this.chosen, of });
  }

  /// The picture of a hazard, by its place in the list.
  hazard(number) {
    return this.ask({ do: "hazard", number });
  }

  /// An order in which the product is right, and one in which it is wrong.
  witness() {
    return this.ask({ do: "witness" });
  }

  /// When each warp of a block would issue its instructions, with these latencies.
  strips(options) {
    return this.ask({ do: "strips", ...options });
  }

  /// Where the run begins to be interesting: its time and the warp; null if nothing is loaded.
  first() {
    return this.ask({ do: "seek", from: 0, to: "first", ...this.chosen });
  }

  /// The time that a step leads to; null if there is none.
  async seek(options) {
    return (await this.ask({ do: "seek", from: this.time, ...this.chosen, ...options })).time;
  }

  /// What was counted, in answer to a stop of the tour: in the whole run, or only on the lines of the source that contain a text.
  count({ metric, per, array, contains }) {
    return this.ask({ do: "count", metric, per, array, contains });
  }

  /// The launch that is running at this time.
  get launch() {
    return this.facts.launches[this.look.launch];
  }

  /// Block number `block` of the launch, as CUDA names it.
  blockName(block = this.chosen.block) {
    return coordinates(block, this.launch.grid);
  }

  /// The thread of a lane of a warp, as CUDA names it.
  threadName(warp = this.chosen.warp, lane = this.chosen.lane) {
    return coordinates(32 * warp + lane, this.launch.block);
  }
}

/// The thread of a hazard's party, as it is chosen.
export const threadOf = ({ number, warp, lane }) => ({ block: number, warp, lane });

/// The coordinates of number `number` in a size of three dimensions, x fastest.
export function coordinates(number, [x, y]) {
  return [number % x, Math.floor(number / x) % y, Math.floor(number / (x * y))];
}
