/** The middle of some numbers. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** One line of output: a figure as host/internal/bench reads it. */
export function report(result) {
  console.log(JSON.stringify(result));
}

/** What a figure is made of: the median of each side, and of the ratios round by round. */
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
 * Gives sides the parts from one number to another, a few to each in turn, so
 * that whatever else the machine does hits them alike. Returns the milliseconds
 * that each took.
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
