import { openGuest } from "../src/guest.ts";
import { split, Writer } from "../src/wire/codec.ts";
import { writeCommand } from "../src/wire/driver-commands.ts";
import { readOutput } from "../src/wire/driver-outputs.ts";

const collection = 1;
const stream = 1;
const everything = { namespace: "", labelSelector: "", fieldSelector: "" };

/**
 * Feeds a recorded connection to a guest, as the engine of the package does, and reads the guest's
 * output.
 */
export class Ours {
  #guest;
  #memory;
  #writer = new Writer();
  /** The time of the guest, in milliseconds. */
  clock = 1;
  live = false;
  /** The resource version of the collection. */
  version = 0;
  /** The durations of all calls into the guest, in milliseconds and in order. */
  calls = [];
  /** The number of output frames by type. */
  frames = {};
  /** The schema of the collection. */
  schema;
  /** Called with the events of the watch. */
  onEvents = () => {};
  /** Called with each patch of the view. */
  onPatch = () => {};

  #deaf = false;
  #patched = false;
  #fetches = [];
  #wake = 0;

  /** Opens a guest with a collection. With `deaf`, the output is not parsed. */
  static async open(module, { metadataOnly = false, deaf = false, kubernetes = "" } = {}) {
    const ours = new Ours();
    ours.#deaf = deaf;
    const config = { type: "Config", seed: 1, client: "bench", maxBytes: 2 ** 31, maxHistory: 0, credit: 0, kubernetes };
    ours.#memory = await memoryOf(async () => (ours.#guest = await openGuest(module, config)));
    ours.send({ type: "OpenCollection", collection, resource: "v1/pods", metadataOnly, columns: [], ...everything });
    if (!kubernetes) ours.send({ type: "StreamOpened", stream, token: "" });
    return ours;
  }

  /** The size of the guest's memory in bytes. */
  get bytes() {
    return this.#memory.buffer.byteLength;
  }

  /** Feeds one message from the connector. */
  receive(data) {
    this.pass(stream, data);
  }

  /** Removes and returns the first pending request whose path has this prefix. */
  fetched(path) {
    const at = this.#fetches.findIndex((f) => f.path.startsWith(path));
    if (at < 0) throw new Error(`the guest did not request ${path}, but ${this.#fetches.map((f) => f.path)}`);
    return this.#fetches.splice(at, 1)[0];
  }

  /**
   * Opens a view, and a watch if a label selector is given, like a page with a table and a counter.
   */
  attach({ watch, ...query }) {
    if (watch) this.watch(watch);
    this.view(1, query);
  }

  /**
   * Opens a watch of the objects that match a label selector. An empty selector matches all
   * objects.
   */
  watch(labelSelector) {
    this.send({
      type: "OpenWatch", watch: 1, collection, ...everything, labelSelector, resourceVersion: "", match: 0,
      sendInitialEvents: 0, bookmarks: false, timeoutSeconds: 0, bodies: false, policy: 0, credit: 0,
    });
  }

  /** Opens a view of 50 rows. `facets` contains names of columns, fields or labels. */
  view(view, { search = "", sort, facets = [] }) {
    this.send({
      type: "OpenView", view, collection, ...everything, namespaces: [], search, where: "", ownedBy: "", recursive: false, sort, offset: 0, limit: 50, anchor: "", before: 0,
      facets: facets.map((by) => ({ by, then: "", limit: 0, width: 0, rowsOnly: false, aggregates: [] })),
    });
  }

  closeView(view) {
    this.send({ type: "CloseView", view });
  }

  send(command) {
    writeCommand(this.#writer, command);
    const frames = this.#writer.take();
    this.#step((guest) => guest.step(frames));
  }

  /** Feeds bytes of a stream directly to the guest, without copying them into a frame. */
  pass(stream, data) {
    if (this.#patched) {
      this.#grant();
      const frames = this.#writer.take();
      this.#step((guest) => guest.step(frames));
    }
    this.#step((guest) => guest.stepData(stream, data));
  }

  /** Requests the next patch of the view, as a page does for each frame that it draws. */
  #grant() {
    if (!this.#patched) return;
    this.#patched = false;
    writeCommand(this.#writer, { type: "GrantView", view: 1 });
  }

  #step(act) {
    do {
      this.#wake = 0;
      this.#timed(() => {
        this.#guest.tick(this.clock);
        act(this.#guest);
      });
      act = () => {};
      for (let out; (out = this.#timed(() => this.#guest.take())); ) {
        if (!this.#deaf) for (const frame of split(out)) this.#read(readOutput(frame));
      }
    } while (this.#wake > 0 && this.#wake <= this.clock); // the guest divides long work into several calls, and asks for the next one with WakeAt
  }

  #read(output) {
    this.frames[output.type] = (this.frames[output.type] ?? 0) + 1;
    if (output.type === "ViewPatch") {
      this.#patched ||= output.id === 1;
      this.onPatch(output);
    }
    if (output.type === "WakeAt") this.#wake = output.millis;
    if (output.type === "WatchEvents") this.onEvents(output.events);
    if (output.type === "CollectionSchema") this.schema = output.schema;
    if (output.type === "Fetch") this.#fetches.push(output);
    if (output.type === "CollectionState") {
      this.live = output.state === "live";
      this.version = Number(output.resourceVersion);
    }
    if (output.type === "Rejected") throw new Error(`the guest refused: ${output.status?.message}`);
  }

  #timed(call) {
    const start = performance.now();
    const result = call();
    this.calls.push(performance.now() - start);
    return result;
  }
}

/** Returns the WebAssembly memory of the instance that `make` creates. */
async function memoryOf(make) {
  const { instantiate } = WebAssembly;
  let memory;
  WebAssembly.instantiate = async (...args) => {
    const instance = await instantiate.apply(WebAssembly, args);
    memory = instance.exports.memory;
    return instance;
  };
  try {
    await make();
  } finally {
    WebAssembly.instantiate = instantiate;
  }
  return memory;
}
