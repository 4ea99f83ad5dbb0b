import { byId } from "./dom.ts";
import { resourceName } from "./format.ts";

const RESOURCES: Record<string, string[]> = {
  Workloads: [
    "v1/pods", "apps/v1/deployments", "apps/v1/replicasets", "apps/v1/statefulsets", "apps/v1/daemonsets",
    "batch/v1/jobs", "batch/v1/cronjobs",
  ],
  Cluster: ["v1/nodes", "v1/namespaces", "v1/events"],
  Network: ["v1/services", "networking.k8s.io/v1/ingresses"],
  Configuration: ["v1/configmaps", "v1/secrets", "v1/persistentvolumeclaims", "v1/serviceaccounts"],
};

/** Selects the resource that the page shows. */
export class ResourcePicker {
  readonly #select = byId<HTMLSelectElement>("resource");

  constructor(onPick: (resource: string) => void) {
    for (const [group, resources] of Object.entries(RESOURCES)) {
      const element = document.createElement("optgroup");
      element.label = group;
      element.append(...resources.map((resource) => new Option(resourceName(resource), resource)));
      this.#select.append(element);
    }
    this.#select.addEventListener("change", () => onPick(this.#select.value));
  }

  set(resource: string): void {
    const known = [...this.#select.options].some((option) => option.value === resource);
    if (!known) this.#select.append(new Option(resource, resource)); // a custom resource from a link
    this.#select.value = resource;
  }
}

/** Selects the namespace that the page shows. The options are the namespaces with objects. */
export class NamespacePicker {
  readonly #picker = byId("namespace-picker");
  readonly #select = byId<HTMLSelectElement>("namespace");
  #offered: string | undefined;

  constructor(onPick: (namespace: string) => void) {
    this.#select.addEventListener("change", () => onPick(this.#select.value));
  }

  draw(namespaces: readonly string[], chosen: string, namespaced: boolean): void {
    this.#picker.hidden = !namespaced;
    const names = namespaces.includes(chosen) || !chosen ? namespaces : [...namespaces, chosen];
    const offered = names.join("\n");
    if (offered !== this.#offered) {
      this.#offered = offered;
      this.#select.replaceChildren(new Option("All namespaces", ""), ...names.map((name) => new Option(name, name)));
    }
    if (this.#select.value !== chosen) this.#select.value = chosen;
  }
}
