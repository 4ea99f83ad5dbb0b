import type { State, Watchglass } from "watchglass";
import { Card, type Chart } from "./cards.ts";
import type { Condition } from "./connection.ts";
import { byId, create } from "./dom.ts";
import { RESOURCES } from "./resources.ts";

/** The charts on the card of each resource. A card without charts shows only the total. */
const CHARTS: Record<string, readonly Chart[]> = {
  "v1/pods": [{ title: "status", by: "Status" }, { title: "namespace", by: "namespace" }],
  "apps/v1/deployments": [{ title: "readiness", where: ["ready", "not ready"] }],
  "apps/v1/statefulsets": [{ title: "readiness", where: ["ready", "not ready"] }],
  "batch/v1/jobs": [{ title: "status", by: "Status" }],
  "v1/nodes": [{ title: "status", by: "Status" }],
  "v1/namespaces": [{ title: "status", by: "Status" }],
  "v1/events": [{ title: "type", by: "Type" }],
  "v1/services": [{ title: "type", by: "Type" }],
  "v1/persistentvolumeclaims": [{ title: "status", by: "Status" }],
};

/**
 * Resources that have a table but no card. A page that only counts objects should not read secrets.
 */
const NOT_COUNTED = new Set(["v1/secrets"]);

/**
 * The states in ascending order of rank. The page shows the state of the card with the highest
 * rank. Forbidden ranks below live, so a card that the user may not read does not determine the
 * state of the page.
 */
const STATES: readonly State[] = ["closed", "forbidden", "live", "syncing", "connecting", "reconnecting", "stale"];

/**
 * Returns the rank of a card's state. A resource that the server does not serve has the lowest
 * rank, because its card shows the error itself.
 */
const rank = ({ state, error }: Condition): number => (error?.code === 404 ? 0 : STATES.indexOf(state));

/**
 * The page with the live counts of the cluster. The collections are open only while this page is
 * shown.
 */
export class Overview {
  readonly #box = byId("overview");
  readonly #connection: Watchglass;
  readonly #onChange: () => void;
  #cards: Card[] = [];

  constructor(connection: Watchglass, onChange: () => void) {
    this.#connection = connection;
    this.#onChange = onChange;
  }

  /** Shows the counts of a namespace, or of all namespaces if `namespace` is empty. */
  show(namespace: string): void {
    if (this.#cards.length === 0) this.#open();
    for (const card of this.#cards) card.show(namespace);
  }

  close(): void {
    for (const card of this.#cards) card.close();
    this.#cards = [];
    this.#box.replaceChildren();
  }

  draw(): void {
    for (const card of this.#cards) card.draw();
  }

  get hasCounts(): boolean {
    return this.#cards.some(({ condition }) => condition.lastProgress > 0);
  }

  /**
   * The condition that the page shows: that of a card whose token was refused, or else of the card
   * with the highest rank. A card that the user may not read shows the error itself.
   */
  get condition(): Condition | undefined {
    const conditions = this.#cards.map(({ condition }) => condition);
    const refused = conditions.find(({ error }) => error?.code === 401);
    return refused ?? conditions.reduce((a, b) => (rank(b) > rank(a) ? b : a));
  }

  /** The namespaces that contain pods. */
  get namespaces(): string[] {
    const pods = this.#cards.find(({ resource }) => resource === "v1/pods");
    return pods?.facet("namespace")?.values.map(([name]) => name) ?? [];
  }

  #open(): void {
    const groups = Object.entries(RESOURCES).map(([group, resources]) => {
      const cards = resources.filter((resource) => !NOT_COUNTED.has(resource))
        .map((resource) => new Card(this.#connection, resource, CHARTS[resource] ?? [], this.#onChange));
      this.#cards.push(...cards);
      const list = create("ul", "cards");
      list.append(...cards.map(({ element }) => element));
      const section = create("section", "group");
      section.append(create("h2", "", group), list);
      return section;
    });
    this.#box.replaceChildren(...groups);
  }
}
