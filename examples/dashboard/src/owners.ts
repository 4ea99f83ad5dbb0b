import type { KubeObject, ObjectHandle, Watchglass } from "watchglass";
import { byId, create } from "./dom.ts";
import { type Owner, controllerOf, objectLink } from "./relations.ts";
import { CLUSTER_SCOPED, resourceOf } from "./resources.ts";

/** The maximum number of owners in a chain. Chains in Kubernetes are much shorter. */
const MAX_OWNERS = 6;

/** One owner in the chain, and a handle that keeps it up to date while the chain is shown. */
interface Step {
  owner: Owner;
  resource: string;
  key: string;
  handle: ObjectHandle;
}

/** Shows the owner that controls an object, the owner of that owner, and so on. */
export class Owners {
  readonly #box = byId("detail-owners");
  readonly #connection: Watchglass;
  readonly #onChange: () => void;
  #object: KubeObject | undefined;
  #steps: Step[] = [];
  #drawn = "";

  constructor(connection: Watchglass, onChange: () => void) {
    this.#connection = connection;
    this.#onChange = onChange;
  }

  open(object: KubeObject): void {
    this.#object = object;
    this.#follow();
  }

  close(): void {
    this.#object = undefined;
    this.#cut(0);
    this.draw();
  }

  draw(): void {
    const drawn = JSON.stringify(this.#steps.map(({ resource, key, handle }) => [resource, key, status(handle)]));
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#box.hidden = this.#steps.length === 0;
    this.#box.replaceChildren(...this.#steps.map(({ owner, resource, key, handle }) => {
      const item = create("li", "");
      const text = `${owner.kind} ${owner.name}`;
      const why = status(handle);
      const name = create(why ? "span" : "a", "", text);
      if (!why) name.setAttribute("href", objectLink(resource, key));
      item.append(name, why && ` (${why})`);
      return item;
    }));
  }

  /**
   * Follows the chain: opens the owners that have become known, and closes those that are no longer
   * in the chain.
   */
  #follow(): void {
    let current = this.#object;
    let depth = 0;
    while (current && depth < MAX_OWNERS) {
      const owner = controllerOf(current);
      if (!owner || owner.uid === this.#object?.metadata.uid) break;
      const step = this.#step(depth, owner, current.metadata.namespace);
      const next: KubeObject | undefined = step.handle.current;
      current = next?.metadata.uid === owner.uid ? next : undefined;
      depth++;
    }
    this.#cut(depth);
    this.#onChange();
  }

  #step(depth: number, owner: Owner, namespace: string | undefined): Step {
    const known = this.#steps[depth];
    if (known?.owner.uid === owner.uid) return known;
    this.#cut(depth);
    const resource = resourceOf(owner.apiVersion, owner.kind);
    const key = namespace && !CLUSTER_SCOPED.has(resource) ? `${namespace}/${owner.name}` : owner.name;
    const handle = this.#connection.object(resource, key, { owner: "owners" });
    const step = { owner, resource, key, handle };
    handle.ready.catch(() => {}); // the handle's error contains the reason
    handle.subscribe(() => this.#follow());
    this.#steps[depth] = step;
    return step;
  }

  #cut(depth: number): void {
    for (const { handle } of this.#steps.splice(depth)) handle.close();
  }
}

/** Returns the reason why an owner has no link, or an empty string if it has a link. */
function status({ exists, error }: ObjectHandle): string {
  if (error?.code === 403) return "you may not read it";
  if (error?.code === 404 || exists === false) return "not found";
  return "";
}
