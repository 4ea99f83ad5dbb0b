import { chunks } from "./chunks.mjs";
import { Direct } from "./direct.mjs";
import { Ours } from "./ours.mjs";
import { Peer } from "./peer.mjs";
import { compare } from "./rounds.mjs";

const warmUps = 4; // V8 optimizes the code during about the first ten thousand changes
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

/**
 * Returns the side of a comparison that feeds `recording` to a guest. The guest must have received
 * the initial state.
 */
function guest(ours, recording, updates) {
  if (!ours.live) throw new Error("the guest is not live after the first state");
  ours.attach({ watch: "app=web", sort: "-Restarts" });
  const listed = ours.version;
  return {
    parts: chunks(recording),
    receive: (message) => ours.receive(message),
    check() {
      const seen = ours.version - listed; // each update has its own version
      if (seen !== updates) throw new Error(`the guest delivered ${seen} of ${updates} updates`);
      if (!(ours.frames.WatchEvents > 1 && ours.frames.ViewPatch > 1)) throw new Error("the watch or the view sent no output");
    },
  };
}

/**
 * Opens one side in the current process, with all objects loaded. Each side has its own process, so
 * that neither side collects the other's garbage.
 */
export async function openSide(name, data) {
  const { parts, receive, check } = await open[name](data);
  const start = (round) => Math.floor((parts.length * round) / rounds);
  return {
    take(round) {
      // Collect the garbage of the previous round outside of the measured time. This favors neither
      // side: by processor time in Node, the ratio is 11.6 with and 11.8 without this step.
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
 * Feeds the same changes to both sides, in alternating rounds, and compares the events
 * per second after the warm-up. `ask` calls a method of a side in its process. `ours`
 * is "ours", which reads from a connector, or "direct".
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
