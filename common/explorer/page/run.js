// A run of a kernel, and the time and the thread at which it is looked at.

/// The numbers of the engine's bulk arrays.
export const BULK = {
  a: 0,
  b: 1,
  c: 2,
  expected: 3,
  readsA: 4,
  readsB: 5,
  writesC: 6,
  marksA: 7,
  marksB: 8,
  marksC: 9,
  shared: 10,
  marksShared: 11,
};
const ONCE = [BULK.a, BULK.b, BULK.expected];
const EACH_TIME = [
  BULK.c,
  BULK.readsA,
  BULK.readsB,
  BULK.writesC,
  BULK.marksA,
  BULK.marksB,
  BULK.marksC,
  BULK.shared,
  BULK.marksShared,
];

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
  async start({ size: [m, n, k], order, fill, limit }) {
    const { ptx, planner, dtype } = this.form;
    const { source, file } = this.kernel;
    const request = {
      do: "run",
      kernel: { ptx, source, file, planner },
      m,
      n,
      k,
      dtype,
      order,
      fill: fill ?? undefined,
      limit,
    };
    const { answer, copies } = await this.engine.ask(request, ONCE);
    this.facts = answer;
    this.take(copies);
    /// The number of the hazard that says most; null without hazards.
    this.worst = answer.hazards.length > 0 ? (await this.hazard()).number : null;
    await this.lookAt(0);
  }

  /// Takes arrays over from the engine, as the numbers that they hold.
  take(copies) {
    const Values = this.form.dtype === "i32" ? Int32Array : Float32Array;
    for (const [name, which] of Object.entries(BULK)) {
      if (!(which in copies)) continue;
      const isValue = [BULK.a, BULK.b, BULK.c, BULK.expected, BULK.shared].includes(which);
      this.values[name] = isValue ? new Values(copies[which]) : new Uint32Array(copies[which]);
    }
  }

  /// Everything there is to see at a time.
  async lookAt(time, chosen = this.chosen) {
    const [{ answer, copies }, { answer: step }] = await Promise.all([
      this.engine.ask({ do: "look", time, ...chosen }, EACH_TIME),
      this.engine.ask({ do: "step", time, block: chosen.block, warp: chosen.warp }),
    ]);
    this.take(copies);
    this.look = answer;
    this.step = step;
    this.time = answer.time;
    this.chosen = { block: answer.block, warp: answer.warp, lane: answer.lane };
  }

  /// What values mean at the present time: `of` says which, as the engine takes it.
  async meaning(of) {
    return (await this.engine.ask({ do: "meaning", time: this.time, ...this.chosen, of })).answer;
  }

  /// The picture of a hazard, by its place in the list; without one of the hazard that says most.
  async hazard(number) {
    return (await this.engine.ask({ do: "hazard", number })).answer;
  }

  /// An order in which the product is right, and one in which it is wrong.
  async witness() {
    return (await this.engine.ask({ do: "witness" })).answer;
  }

  /// When each warp of a block would issue its instructions, with these latencies.
  async strips(options) {
    return (await this.engine.ask({ do: "strips", ...options })).answer;
  }

  /// Where the run begins to be interesting: its time and the warp; null if nothing is loaded.
  async first() {
    return (await this.engine.ask({ do: "seek", from: 0, to: "first", ...this.chosen })).answer;
  }

  /// The time that a step leads to; null if there is none.
  async seek(options) {
    const { block, warp } = this.chosen;
    const { answer } = await this.engine.ask({ do: "seek", from: this.time, back: false, block, warp, ...options });
    return answer ? answer.time : null;
  }

  /// What was counted, in answer to a stop of the tour.
  async count({ metric, per, array }) {
    return (await this.engine.ask({ do: "count", metric, per, array })).answer;
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

/// The coordinates of number `number` in a size of three dimensions, x fastest.
export function coordinates(number, [x, y]) {
  return [number % x, Math.floor(number / x) % y, Math.floor(number / (x * y))];
}
