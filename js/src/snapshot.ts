import { abortable } from "./abort.js";
import { Deferred } from "./deferred.js";
import { settle, type EngineClient, type Open, type OpenCollection } from "./engine-client.js";
import { badRequest, protocolError, WatchglassError } from "./errors.js";
import { batchBytes } from "./member.js";
import type { Position, SnapshotChunk, SnapshotOptions } from "./types.js";
import { maxMessage } from "./wire/codec.js";
import type { Delivery } from "./wire/outputs.js";

/**
 * Yields the chunks of a collection's state. Requests each chunk when the caller has finished with
 * the previous one.
 */
export async function* takeSnapshot(collection: OpenCollection, options: SnapshotOptions): AsyncGenerator<SnapshotChunk, void, void> {
  collection.check();
  options.signal?.throwIfAborted();
  const { client } = collection;
  const { resourceVersion, clusterID }: Position = options.since ?? { resourceVersion: "0", clusterID: "" };
  if (!/^\d+$/.test(resourceVersion)) throw badRequest(`since.resourceVersion is ${JSON.stringify(resourceVersion)}, expected a decimal number`);
  const chunkBytes = options.chunkBytes ?? 0;
  let answer = new Deferred<Delivery & { type: "SnapshotChunk" }>();
  const answers: Open = {
    receive: (output) => settle(answer, "SnapshotChunk", output),
    restarted: (status) => answer.reject(new WatchglassError(status)), // the new engine cannot continue the snapshot
    closed: (error) => answer.reject(error),
  };
  const request = client.register(answers);
  collection.adopt(answers);
  let under = true;
  try {
    client.send({ type: "TakeSnapshot", request, collection: collection.id, resourceVersion, clusterID, chunkBytes });
    for (;;) {
      const { whole, last, resourceVersion, clusterID, data } = await abortable(() => answer.promise, options.signal);
      answer = new Deferred();
      if (last) under = false;
      yield { data: data.slice(), whole, last, position: last ? { resourceVersion, clusterID } : undefined };
      if (last) return;
      client.send({ type: "NextChunk", request, stop: false });
    }
  } finally {
    if (under) client.send({ type: "NextChunk", request, stop: true });
    client.release(request);
    collection.disown(answers);
  }
}

/**
 * A stored chunk without its body. `body` is the name under which the body is loaded when one of
 * its objects is read.
 */
export interface ChunkHead {
  data: Uint8Array;
  body: number;
}

/**
 * Passes stored chunks to a collection that was opened with `restore`. Resolves when the
 * engine has processed them. Rejects if a chunk is too long to be part of a snapshot.
 */
export async function restore(client: EngineClient, collection: number, chunks: Iterable<Uint8Array | ChunkHead>): Promise<void> {
  let refused: WatchglassError | undefined;
  for (const chunk of chunks) {
    const { data, body } = chunk instanceof Uint8Array ? { data: chunk, body: 0 } : chunk;
    // Longer data is not a chunk of a snapshot, and may exceed the size limit of commands.
    if (data.length > maxMessage - batchBytes) {
      refused = protocolError(`the stored state cannot be restored: a chunk has ${data.length} bytes, more than the maximum`);
      break;
    }
    client.send({ type: "RestoreChunk", collection, data, end: false, body });
  }
  // The engine refuses an incomplete snapshot, and accepts an empty one.
  client.send({ type: "RestoreChunk", collection, data: new Uint8Array(), end: true, body: 0 });
  // Outputs arrive in order, so this reply follows any rejection of the stored state.
  await client.request("InspectReply", (request) => ({ type: "Inspect", request }));
  if (refused) throw refused;
}
