import { byId } from "./dom.ts";
import { resourceName } from "./format.ts";
import { RESOURCES } from "./resources.ts";
import { OVERVIEW } from "./state.ts";

/** Selects the resource that the page shows. */
export class ResourcePicker {
  readonly #select = byId<HTMLSelectElement>("resource");

  constructor(onPick: (resource: string) => void) {
    this.#select.append(new Option(OVERVIEW, OVERVIEW));
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

/**
 * Selects the namespace that the page shows. The options are the namespaces that contain objects.
 */
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
