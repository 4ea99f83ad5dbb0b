import { BTreeIndex, count, createCollection, createLiveQueryCollection } from "@tanstack/db";
import { largest } from "./arrays.mjs";

const text = "running";
const facets = ["status", "ready", "node", "namespace", "app"];
const writes = { ADDED: "insert", MODIFIED: "update", DELETED: "delete" };

/**
 * Evaluates the query of P21 with TanStack DB: a live query for the rows, and one for each facet.
 */
export class Tanstack {
  #sync;
  #rows;
  #facets;

  static async open(snapshot) {
    const db = new Tanstack();
    const pods = createCollection({
      id: "pods",
      getKey: ({ key }) => key,
      autoIndex: "eager",
      defaultIndexType: BTreeIndex,
      defaultStringCollation: { stringSort: "lexical" },
      sync: {
        sync: (writer) => {
          db.#sync = writer;
          writer.begin();
          for (const value of snapshot) writer.write({ type: "insert", value });
          writer.commit();
          writer.markReady();
        },
        rowUpdateMode: "full",
      },
      startSync: true,
    });
    await pods.preload();
    const matching = (q) => q.from({ pod: pods }).fn.where(({ pod }) => pod.text.includes(text));
    const live = async (query) => {
      const collection = createLiveQueryCollection({ query, startSync: true });
      collection.subscribeChanges(() => {}); // without a subscriber, TanStack DB would end the query after some seconds
      await collection.preload();
      return collection;
    };
    db.#rows = await live((q) =>
      matching(q).orderBy(({ pod }) => pod.restarts, "desc").orderBy(({ pod }) => pod.node).orderBy(({ pod }) => pod.key).limit(50),
    );
    db.#facets = [];
    for (const name of facets) {
      db.#facets.push(await live((q) => matching(q).groupBy(({ pod }) => pod[name]).select(({ pod }) => ({ value: pod[name], rows: count(pod.key) }))));
    }
    return db;
  }

  receive(changes) {
    this.#sync.begin();
    for (const { type, row } of changes) this.#sync.write({ type: writes[type], value: row });
    this.#sync.commit();
  }

  result() {
    const counts = this.#facets.map((facet) => facet.toArray.map(({ value, rows }) => [value, rows]));
    return {
      total: counts[0].reduce((sum, [, rows]) => sum + rows, 0),
      keys: this.#rows.toArray.map(({ key }) => key),
      facets: counts.map(largest),
    };
  }
}
