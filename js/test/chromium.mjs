// The switches of Chromium for all tests in a browser.

// Chromium uses only the last list of features, so this list replaces Playwright's list and repeats
// its entries. The first two entries disable hidden pages of the address bar. Chromium would load
// these pages for each new window, which takes more CPU time than most tests.
const unused = [
  "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
  "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying",
  "OptimizationHints", "PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning",
];

/** The switches for tests. The switches also prevent the browser's own network requests. */
export const args = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", `--disable-features=${unused.join(",")}`,
];
