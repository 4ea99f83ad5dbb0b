import { fork } from "node:child_process";
import { once } from "node:events";

/**
 * The name of the side that this process measures. Undefined in the parent process, which compares
 * the sides.
 */
export const side = process.argv.at(-1).startsWith("side=") ? process.argv.at(-1).slice(5) : undefined;

/** Answers calls from the parent process with the methods of an opened side. */
export function serveSide(opened) {
  process.on("message", ([method, ...args]) => process.send([opened[method](...args)]));
  process.send("open");
}

/**
 * Runs the current script once for each side. Returns a function that calls a method of a side in
 * its process, and a function that ends the processes.
 */
export async function openSides(names) {
  const children = {};
  for (const name of names) {
    children[name] = fork(process.argv[1], [...process.argv.slice(2), `side=${name}`]);
    await answer(children[name]);
  }
  return {
    async ask(name, ...call) {
      children[name].send(call);
      const [[result]] = await answer(children[name]);
      return result;
    },
    close() {
      for (const child of Object.values(children)) child.disconnect();
    },
  };
}

/**
 * Returns the next message from a child. Rejects if the child exits. A child that fails prints its
 * error to stderr.
 */
async function answer(child) {
  const died = new AbortController();
  const exit = () => died.abort(new Error("a side of the comparison failed"));
  child.once("exit", exit);
  try {
    return await once(child, "message", { signal: died.signal });
  } finally {
    child.off("exit", exit);
  }
}
