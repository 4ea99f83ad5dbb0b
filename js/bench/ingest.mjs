import { chunks } from "./chunks.mjs";
import { Direct } from "./direct.mjs";
import { Ours } from "./ours.mjs";
import { Peer } from "./peer.mjs";
import { compare } from "./rounds.mjs";

const warmUps = 4; // V8 goes on compiling for some ten thousand changes
const rounds = 7 + warmUps;

const open = {
  async ours({ module, read, updates }) {
    const ours = await Ours.open(module);
    for (const message of chunks(await read("snapshot.bin"))) ours.receive(message);
    return guest(ours, await read("updates.bin"), updates);
  },

  async direct({ module, read, updates }) {
    return guest(await Direct.open(module, await read("list.json")), await read("watch.bin"), updates);
  },

  async peer({ read, updates }) {
    const peer = await Peer.open(await read("list.json"));
    return {
      parts: chunks(await read("watch.bin")),
      receive: (chunk) => peer.receive(chunk),
      check() {
        if (peer.updates !== updates) throw new Error(`client-node received ${peer.updates} of ${updates} updates`);
      },
    };
  },
};

/** A guest that has its first state. */
function guest(ours, recording, updates) {
  if (!ours.live) throw new Error("the guest is not live after the first state");
  ours.attach({ watch: "app=web", sort: "-Restarts" });
  const listed = ours.version;
  return {
    parts: chunks(recording),
    receive: (message) => ours.receive(message),
    check() {
      const seen = ours.version - listed; // each update has a version of its own
      if (seen !== updates) throw new Error(`the guest delivered ${seen} of ${updates} updates`);
      if (!(ours.frames.WatchEvents > 1 && ours.frames.ViewPatch > 1)) throw new Error("the watch or the view sent no output");
    },
  };
}

/**
 * One side, with all objects, in the process that this runs in. The other has its
 * own, so that neither collects the other's garbage.
 */
export async function openSide(name, data) {
  const { parts, receive, check } = await open[name](data);
  const start = (round) => Math.floor((parts.length * round) / rounds);
  return {
    take(round) {
      // The garbage of one round is not for the next to collect. That favours nobody:
      // by processor time the ratio in Node is 11.6 with it and 11.8 without.
      globalThis.gc?.();
      const mine = parts.slice(start(round), start(round + 1));
      const before = performance.now();
      for (const part of mine) receive(part);
      return performance.now() - before;
    },
    check,
  };
}

/**
 * Lets both sides take the same changes, a round each in turn, and compares the
 * events per second of the rounds that count. ask calls a method of a side where
 * that is. Ours is read from a connector, or "direct".
 */
export async function ingest(name, updates, ours, ask) {
  const speeds = { [ours]: [], peer: [] };
  for (let round = 0; round < rounds; round++) {
    for (const side of Object.keys(speeds)) {
      const millis = await ask(side, "take", round);
      if (round >= warmUps) speeds[side].push((1000 * updates) / rounds / millis);
    }
  }
  for (const side of Object.keys(speeds)) await ask(side, "check");
  return compare(name, speeds[ours], speeds.peer, "/s", (ours, peer) => ours / peer);
}
