// Where the words of a request are drawn: rows of 32 words. In global memory a row is a line of four sectors. In
// shared memory a row is a pass through the 32 banks, a wavefront.

const ROW = 32;

/// One side of an access, in a form that can be drawn: which words each lane asks for, and the rows of memory that
/// deliver them.
export function requestSide(request, side) {
  const shared = side !== request || request.space === "shared";
  const lanes = [];
  side.addresses.forEach((address, lane) => {
    if (address === null) return;
    const first = Math.floor(address / 4);
    const words = Math.max(1, Math.ceil(((address % 4) + request.bytes) / 4));
    lanes.push({ lane, first, words });
  });
  const rows = shared ? bankRows(lanes, side.wavefronts) : lineRows(lanes, side.sectors);
  const writes = request.kind === "store" || request.kind === "atomic" || side !== request;
  return {
    shared,
    writes,
    lanes,
    rows,
    places: placesOf(lanes, rows),
    array: side.array,
  };
}

/// The lines of 128 bytes that are touched, each with its words and its sectors.
function lineRows(lanes, sectors) {
  const rows = new Map();
  const row = (line) => rows.get(line) ?? rows.set(line, { line, words: new Map(), sectors: new Set() }).get(line);
  for (const { lane, first, words } of lanes) {
    for (let word = first; word < first + words; word += 1)
      row(Math.floor(word / ROW)).words.set(((word % ROW) + ROW) % ROW, { word, lane });
  }
  for (const sector of sectors) row(Math.floor(sector / 4)).sectors.add(((sector % 4) + 4) % 4);
  return [...rows.values()].sort((a, b) => a.line - b.line);
}

/// The passes through shared memory; where the assembler merges the access with another one, the words as they lie in
/// the banks.
function bankRows(lanes, wavefronts) {
  if (wavefronts.length > 0) {
    return wavefronts.map(({ lanes: mask, banks }) => {
      const words = new Map();
      banks.forEach((word, bank) => word !== null && words.set(bank, { word }));
      return { words, mask };
    });
  }
  const rows = [];
  const seen = new Set();
  for (const { first, words } of lanes) {
    for (let word = first; word < first + words; word += 1) {
      if (seen.has(word)) continue;
      seen.add(word);
      const bank = word % ROW;
      const free = rows.find((row) => !row.words.has(bank)) ?? rows[rows.push({ words: new Map(), mask: null }) - 1];
      free.words.set(bank, { word });
    }
  }
  return rows;
}

/// The row and the column of the first word of each lane.
function placesOf(lanes, rows) {
  return new Map(
    lanes.map(({ lane, first }) => {
      const column = ((first % ROW) + ROW) % ROW;
      const has = (row) => row.words.get(column)?.word === first;
      const serves = (row) => has(row) && (row.mask === null || row.mask === undefined || (row.mask >>> lane) & 1);
      const row = rows.findIndex(serves);
      return [lane, { row: row >= 0 ? row : rows.findIndex(has), column }];
    }),
  );
}
