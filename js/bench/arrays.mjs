const text = "running";
const facets = ["status", "ready", "node", "namespace", "app"];

/**
 * Evaluates the query of P21 with JavaScript arrays. It evaluates the query again for each batch of
 * changes, as a page would for each frame.
 */
export class Arrays {
  #rows;
  #result;

  static async open(snapshot) {
    const arrays = new Arrays();
    arrays.#rows = new Map(snapshot.map((row) => [row.key, row]));
    arrays.#evaluate();
    return arrays;
  }

  receive(changes) {
    for (const { type, row } of changes) {
      if (type === "DELETED") this.#rows.delete(row.key);
      else this.#rows.set(row.key, row);
    }
    this.#evaluate();
  }

  result() {
    return this.#result;
  }

  #evaluate() {
    const matching = [];
    for (const row of this.#rows.values()) if (row.text.includes(text)) matching.push(row);
    matching.sort(compareRows);
    this.#result = { total: matching.length, keys: matching.slice(0, 50).map(({ key }) => key), facets: facets.map((name) => largest(count(matching, name))) };
  }
}

/** Compares rows by restarts, most first, then by node, and finally by key. */
export function compareRows(a, b) {
  return b.restarts - a.restarts || compare(a.node, b.node) || compare(a.key, b.key);
}

function compare(a, b) {
  return a < b ? -1 : Number(a > b);
}

function count(rows, name) {
  const counts = new Map();
  for (const row of rows) counts.set(row[name], (counts.get(row[name]) ?? 0) + 1);
  return [...counts];
}

/** Returns the 100 most frequent values with their counts, sorted by value. */
export function largest(counts) {
  return counts.sort(([a, n], [b, m]) => m - n || compare(a, b)).slice(0, 100).sort(([a], [b]) => compare(a, b));
}
