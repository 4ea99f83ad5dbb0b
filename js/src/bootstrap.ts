import type { TrustedScriptURL } from "./types.js";

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): TrustedScriptURL };
}

let policy: { createScriptURL(url: string): TrustedScriptURL | string } | undefined;

/**
 * Returns the URL of a script that this package created, in the form that pages with Trusted Types
 * require. The Content-Security-Policy of these pages must allow the policy "watchglass".
 */
export function trusted(url: string): TrustedScriptURL | string {
  if (!policy) {
    const plain = { createScriptURL: (url: string) => url };
    try {
      policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("watchglass", plain) ?? plain;
    } catch {
      policy = plain; // the page does not allow the policy; it may have a default policy
    }
  }
  return policy.createScriptURL(url);
}

/**
 * Returns the URL of a script of this origin that imports a worker's script from another
 * origin. Browsers refuse to start a worker from another origin directly.
 */
export function bootstrap(script: string): TrustedScriptURL | string {
  return trusted(URL.createObjectURL(new Blob([`import ${JSON.stringify(script)};`], { type: "text/javascript" })));
}
