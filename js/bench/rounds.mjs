/** Returns the median of a non-empty array. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Prints a result as one line of JSON, which host/internal/bench parses. */
export function report(result) {
  console.log(JSON.stringify(result));
}

/**
 * Returns a result for {@link report} with the median of each side, and the median of the ratios of
 * the rounds.
 */
export function compare(name, ours, theirs, unit, ratio) {
  return {
    case: name,
    ratio: median(ours.map((value, i) => ratio(value, theirs[i]))),
    sides: [
      { name: "ours", value: median(ours), unit },
      { name: "client-node", value: median(theirs), unit },
    ],
  };
}

/**
 * Feeds the parts with the indexes `from` (inclusive) to `to` (exclusive) to all sides. The sides
 * take turns with a few parts each, so that other load on the machine affects all sides equally.
 * Returns the milliseconds that each side has taken.
 */
export function inTurn(sides, from, to) {
  const few = 4;
  const millis = sides.map(() => 0);
  for (let at = from; at < to; at += few) {
    sides.forEach(({ receive, parts }, i) => {
      const start = performance.now();
      for (const part of parts.slice(at, Math.min(at + few, to))) receive(part);
      millis[i] += performance.now() - start;
    });
  }
  return millis;
}
