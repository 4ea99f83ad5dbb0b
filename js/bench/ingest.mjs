import { chunks } from "./chunks.mjs";
import { Ours } from "./ours.mjs";
import { Peer } from "./peer.mjs";
import { inTurn } from "./rounds.mjs";

const warmUps = 2;

/**
 * Both sides take the same changes in turn, round by round, and each holds all
 * objects throughout. Returns the events per second of the rounds that count.
 */
export async function ingest({ module, snapshot, updates, list, watch, rounds, updatesPerBatch }) {
  const ours = await Ours.open(module);
  for (const message of chunks(snapshot)) ours.receive(message);
  if (!ours.live) throw new Error("the snapshot did not make the guest live");
  ours.attach({ watch: "app=web", sort: "-Restarts" });
  const peer = await Peer.open(list);

  const sides = {
    ours: { receive: (m) => ours.receive(m), parts: chunks(updates) },
    peer: { receive: (c) => peer.receive(c), parts: chunks(watch) },
  };
  const batches = Math.floor(sides.peer.parts.length / (rounds + warmUps));
  const speeds = { ours: [], peer: [] };
  for (let round = 0; round < rounds + warmUps; round++) {
    globalThis.gc?.(); // the garbage of one round is not for the next to collect
    const millis = inTurn(Object.values(sides), round * batches, (round + 1) * batches);
    if (round < warmUps) continue;
    Object.keys(sides).forEach((side, i) => speeds[side].push((1000 * batches * updatesPerBatch) / millis[i]));
  }
  const expected = (rounds + warmUps) * batches * updatesPerBatch;
  if (peer.updates !== expected) throw new Error(`client-node saw ${peer.updates} updates of ${expected}`);
  if (!(ours.frames.WatchEvents > 0 && ours.frames.ViewPatch > 0)) throw new Error("the watch or the view said nothing");
  return speeds;
}
