// The entry `watchglass/tree`, with the live tree of the objects below an owner.
import { Deferred } from "./deferred.js";
import { Listeners } from "./listeners.js";
import type { Collection, Row, Status, View, ViewOptions } from "./types.js";

/** An object and the objects that it owns. Frozen. */
export interface TreeNode {
  uid: string;
  /** The row of the object. Undefined only for a root that no collection contains. */
  row: Row | undefined;
  /** The first of the tree's collections that contains the object. */
  collection: Collection | undefined;
  /** The objects that this object owns, ordered by collection and then by key. */
  children: readonly TreeNode[];
}

/** The state of a tree at one point in time. Frozen. */
export interface TreeSnapshot {
  root: TreeNode;
  /**
   * Whether objects are missing because a collection has more objects below the root than
   * {@link TreeOptions.limit}.
   */
  truncated: boolean;
  /** The collections whose objects are missing or outdated, with the reason, such as a 403. */
  errors: ReadonlyArray<{ readonly collection: Collection; readonly error: Status }>;
}

export interface TreeOptions {
  /** The maximum number of objects of each collection. Default 1000, at most 10000. */
  limit?: number;
}

/** The live tree of an owner. */
export interface OwnerTree {
  /** The current state. It is the same object until the tree changes. */
  readonly snapshot: TreeSnapshot;
  /**
   * Calls a listener after every change of {@link snapshot}, at most once per animation frame.
   * Returns a function that unsubscribes. `subscribe` does not use `this`, so it can be passed on
   * its own.
   */
  readonly subscribe: (listener: () => void) => () => void;
  /**
   * Resolves when {@link snapshot} has the objects of every collection, or the error that prevents
   * this.
   */
  readonly ready: Promise<void>;
  /** Closes the tree, and leaves the collections open. */
  close(): void;
  [Symbol.dispose](): void;
}

/** The two views of one collection: the root alone, and all objects below it. */
interface Source {
  collection: Collection;
  views: readonly [root: View, below: View];
}

/** A node under construction. */
interface Growing extends TreeNode {
  children: TreeNode[];
}

/**
 * Opens the live tree below the object with a UID. The tree contains the objects that this object
 * owns, directly or through other objects, as with {@link ViewOptions.recursive}. Only objects of
 * the given collections are part of the tree. Intermediate owners are found in all open collections
 * of the client. The owner of an object is its controller, or else its first owner reference. An
 * object in several collections appears only once.
 */
export function ownerTree(collections: readonly Collection[], uid: string, { limit = 1000 }: TreeOptions = {}): OwnerTree {
  const listeners = new Listeners();
  const ready = new Deferred();
  const sources: Source[] = [];
  let snapshot: TreeSnapshot | undefined;
  let scheduled = false;
  // Several views may change in one frame, and each view then calls `changed`. The tree calls its
  // own listeners only once.
  const changed = (): void => {
    snapshot = undefined;
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      settle();
      listeners.call();
    });
  };
  const settle = (): void => {
    if (sources.every((source) => errorOf(source) || source.views.every(({ state }) => state !== "loading"))) ready.resolve();
  };
  const close = (): void => {
    for (const end of unsubscribe) end();
    snapshot ??= grow(uid, sources);
    ready.resolve();
    listeners.clear();
    for (const { views } of sources) for (const view of views) view.close();
  };
  const unsubscribe: (() => void)[] = [];
  try {
    for (const collection of collections) {
      const root = collection.view({ where: ["uid", "=", uid], limit: 1 });
      const below = collection.view({ ownedBy: uid, recursive: true, limit });
      sources.push({ collection, views: [root, below] });
      for (const { subscribe } of [root, below, collection]) unsubscribe.push(subscribe(changed));
    }
    settle();
  } catch (error) {
    close();
    throw error;
  }
  return {
    get snapshot() {
      return (snapshot ??= grow(uid, sources));
    },
    subscribe: (listener) => listeners.add(listener),
    ready: ready.promise,
    close,
    [Symbol.dispose]: close,
  };
}

/**
 * Returns the reason why objects of a collection are missing or outdated, or undefined if there is
 * none.
 */
function errorOf({ collection, views: [, { state, error }] }: Source): Status | undefined {
  return error ?? (state === "loading" ? collection.status.error : undefined);
}

/** Builds the tree from the rows of all views, in time proportional to the number of rows. */
function grow(uid: string, sources: readonly Source[]): TreeSnapshot {
  const root: Growing = { uid, row: undefined, collection: undefined, children: [] };
  const nodes = new Map<string, Growing>([[uid, root]]);
  for (const { collection, views } of sources) {
    for (const row of views.flatMap(({ state, snapshot }) => (state === "closed" ? [] : snapshot.rows))) {
      const node = nodes.get(row.uid);
      if (!node) nodes.set(row.uid, { uid: row.uid, row, collection, children: [] });
      else if (!node.row) Object.assign(node, { row, collection });
    }
  }
  // The root never becomes a child, so the tree contains no cycle.
  for (const node of nodes.values()) if (node !== root) nodes.get(node.row?.owner ?? "")?.children.push(node);
  for (const node of nodes.values()) {
    Object.freeze(node.children);
    Object.freeze(node);
  }
  return Object.freeze({
    root,
    truncated: sources.some(({ views: [, { snapshot }] }) => snapshot.total > snapshot.rows.length),
    errors: Object.freeze(sources.flatMap((source) => {
      const error = errorOf(source);
      return error ? [Object.freeze({ collection: source.collection, error })] : [];
    })),
  });
}
